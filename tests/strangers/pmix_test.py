#!/usr/bin/env python3
"""Another user at the port where a host's PMIx server hears its ranks: crowds that say nothing, noise, and one who
says the ranks' own words. None is heard, and the job goes on. Needs root and Debian's Open MPI.
pmix_test.py PRUN WORLD_C"""
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import wait_until  # noqa: E402

NOBODY, CROWD, LIMIT_S = 65534, 40, 60
SAYS = '[ -n "$PMIX_NAMESPACE" ] || exit 9; env | grep -a ^PMIX_ > "$0/env.$PMIX_RANK.part"; ' \
       'mv "$0/env.$PMIX_RANK.part" "$0/env.$PMIX_RANK"; while [ ! -e "$0/go" ]; do sleep 0.1; done; exec "$0/world"'


def check(condition, what, said=""):
    if not condition:
        sys.exit(f"FAILED: {what}\n{said}")
    print(f"good: {what}", flush=True)


def kept(crowd, limit_s):
    """How many of these connections the server has not closed at last."""
    waiting, end = list(crowd), time.monotonic() + limit_s
    while waiting and time.monotonic() < end:
        for one in select.select(waiting, [], [], 0.1)[0]:
            try:
                closed = one.recv(1) == b""
            except OSError:
                closed = True
            if closed:
                waiting.remove(one)
    return len(waiting)


def visit(port, words):
    one = socket.socket()
    one.settimeout(LIMIT_S)
    try:
        one.connect(("127.0.0.1", port))
        one.sendall(words)
    except OSError:
        pass
    return one


def attack(port, uid, size, words, limit_s):
    """How many of a crowd of this user the server keeps; the crowd stays until it is told to go."""
    heard, tell = os.pipe()
    go, leave = os.pipe()
    if os.fork() == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.close(leave)
            crowd = [visit(port, words[i % len(words)]) for i in range(size)]
            os.write(tell, str(kept(crowd, limit_s)).encode() + b"\n")
            os.read(go, 1)
        finally:
            os._exit(0)
    os.close(tell)
    os.close(go)
    with os.fdopen(heard) as file:
        return int(file.readline()), leave


def main():
    prun, source = sys.argv[1:]
    compiler = shutil.which("mpicc.openmpi")
    helper = os.path.join(os.path.dirname(prun), "../pmix/prun-pmix")
    if os.geteuid() != 0 or not compiler or not os.path.exists(helper):
        return print("skipped: needs root, Debian's Open MPI and a build with PMIx")
    with tempfile.TemporaryDirectory(prefix="strangers-") as folder:
        subprocess.run([compiler, "-o", f"{folder}/world", source], check=True)
        job = subprocess.Popen([prun, "--oversubscribe", "-np", "2", "sh", "-c", SAYS, folder], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            wait_until(lambda: all(os.path.exists(f"{folder}/env.{rank}") for rank in range(2)), "the ranks' variables")
            with open(f"{folder}/env.0") as file:
                port = int(re.search(r"=\S+tcp4://127\.0\.0\.1:(\d+)", file.read()).group(1))
            own, own_leaves = attack(port, os.geteuid(), 1, [b""], 1)
            check(own == 1, "a connection of this user is heard")
            os.close(own_leaves)
            heard, leave = attack(port, NOBODY, CROWD, [b"", os.urandom(400), b"\xff" * 64, bytes(64)], LIMIT_S)
            check(heard == 0, "of another user's none is", f"{heard} of {CROWD} are")
            with open(f"{folder}/go", "w"):
                pass
            try:
                said, _ = job.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                job.kill()
                sys.exit(f"FAILED: the ranks wait behind strangers\n{job.communicate()[0]}")
            check(job.returncode == 0 and said.count("ring good") == 2, "and the job's own ranks are served", said)
            os.close(leave)
        finally:
            job.terminate()


main()
