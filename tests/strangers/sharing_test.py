#!/usr/bin/env python3
"""Strangers while ranks share files, at their daemon's door and, with torchrun's variables, at their own: wrong
secrets, half of the words, files that nobody asked for, crowds that say nothing. They hear nothing and get nothing, and
the ranks get what they shared. sharing_test.py PRUN SHARE"""
import array
import glob
import os
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import free_port, wait_until  # noqa: E402

PRUN, SHARE = map(os.path.abspath, sys.argv[1:])
NOBODY = 65534
ASK = struct.Struct("=IIiI16s")
MAGIC, WISHES = 0x74645231, {"share": (3, 512), "take": (4, 48)}


def check(condition, what, said=""):
    if not condition:
        sys.exit(f"FAILED: {what}\n{said}")
    print(f"good: {what}", flush=True)


def knock(name, words, file=None):
    """What a visitor hears who says this, and how many files come along."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.settimeout(20)
        try:
            one.connect(name)
            along = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))] if file is not None else []
            one.sendmsg([words], along)
            heard, files, _, _ = one.recvmsg(4096, 4096)
            return len(heard) + len(files)
        except OSError:
            return 0


def attack(name):
    """Of one door: how much was heard in all."""
    heard = 0
    file = os.memfd_create("strangers")
    for wish, size in WISHES.values():
        for secret in (bytes(16), os.urandom(16)):
            right = ASK.pack(MAGIC, wish, 0, size, secret) + bytes(size)
            for words in (right, right[:-1], right + b"x", right[:9], ASK.pack(MAGIC, wish, 99, size, secret) + bytes(size),
                          ASK.pack(MAGIC, wish, -1, size, secret) + bytes(size), ASK.pack(MAGIC, wish, 0, 2**32 - 1, secret),
                          os.urandom(500), b"\0"):
                heard += knock(name, words) + knock(name, words, file)
    kept = []
    for _ in range(200):  # and a crowd that says nothing, and is gone with us
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.setblocking(False)
        try:
            one.connect(name)
        except OSError:
            pass
        kept.append(one)
    return heard


def as_user(what, user):
    """What WHAT returns, a number, as another user where that can be."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        if user is not None and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        os.write(theirs, str(what()).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as said:
        number = said.read()
    os.waitpid(child, 0)
    return int(number or -1)


def start(words, **variables):
    return subprocess.Popen(words, env=dict(os.environ, **variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def names_like(start):
    with open("/proc/net/unix") as all:
        return sorted({"\0" + line.split("@", 1)[1].strip() for line in all if "@" + start in line})


def try_door(what, doors, ranks, folder):
    for door in doors:
        for user, who in ((NOBODY, "another user"), (None, "our own without the key")):
            check(as_user(lambda: attack(door), user) == 0, f"{what}: {who} hears nothing and gets no file")
    open(f"{folder}/go", "w").close()
    said = "".join(one.communicate(timeout=200)[0] for one in ranks)
    check(all(f"rank {rank}: good" in said for rank in range(2)), f"{what}: the ranks get what they shared", said)
    os.remove(f"{folder}/go")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        job = start([PRUN, "--oversubscribe", "-np", "2", SHARE, "waits", f"{folder}/go"], TMPDIR=folder)
        door = wait_until(lambda: (glob.glob(f"{folder}/tutti-own-*/door") + [""])[0], "the door")
        try_door("the daemon's door", [door], [job], folder)
        check(job.returncode == 0 and not os.listdir(folder), "the job ends well and leaves nothing", os.listdir(folder))
        before = names_like("tutti-share-")
        port = str(free_port())
        ranks = [start([SHARE, "waits", f"{folder}/go"], RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2",
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for rank in range(2)]
        doors = wait_until(lambda: (lambda new: new if len(new) == 2 else None)(
            [name for name in names_like("tutti-share-") if name not in before]), "the doors of two ranks")
        try_door("a rank's own door", doors, ranks, folder)


main()
