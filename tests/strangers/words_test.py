#!/usr/bin/env python3
"""A rank that says without end what only the library should say to a daemon: the others are heard, daemon and prun do
not grow, and nothing waits for it at the end. words_test.py PRUN WORDS"""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import LIMIT_S, parent_of, processes_with, stat_of, wait_until  # noqa: E402

PRUN, WORDS = map(os.path.abspath, sys.argv[1:])
ADDRESS, LINKS, REMARK, CALL, UNKNOWN = 2, 5, 9, 10, 77  # wireup/protocol.h
BYTES, PARCELS = 60000, 4000  # 240 MB in all
MOST_KIB = 100 << 10


def most_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1])


class Run:
    def __init__(self, folder, says, size, count):
        self.folder, self.mark = folder, f"words-{os.getpid()}-{says}-{count}"
        self.output = open(f"{folder}/output-{says}-{count}", "w+")
        self.prun = subprocess.Popen([PRUN, "-np", "2", "--oversubscribe", WORDS, str(says), str(size), str(count), folder],
                                     env=dict(os.environ, TUTTI_TEST_MARK=self.mark), stdin=subprocess.DEVNULL,
                                     stdout=self.output, stderr=subprocess.STDOUT)

    def said(self):
        shown = os.path.getsize(self.output.name)
        assert shown < 4 << 20, f"{shown} bytes are shown"
        with open(self.output.name, errors="replace") as file:
            return file.read()

    def ranks(self):
        return sorted(pid for pid, words in processes_with(self.mark).items() if words.startswith(WORDS))

    def grown(self):
        """Of prun and the daemon, those that take more than they should."""
        return [kib for pid in (self.prun.pid, parent_of(self.ranks()[0])) if (kib := most_kib(pid)) > MOST_KIB]

    def end(self):
        self.prun.send_signal(signal.SIGTERM)
        self.prun.wait(LIMIT_S)
        wait_until(lambda: not processes_with(self.mark), "all of it to end")


def endless(folder, what, says, size):
    run = Run(folder, says, size, 0)
    try:
        wait_until(lambda: run.said() is not None and len(run.ranks()) == 2, "the ranks")
        wait_until(lambda: "says more than 1 MiB" in run.said() if says in (LINKS, REMARK) else
                   "Z" not in stat_of(run.ranks()[0])[0], f"{what} to be bounded")
        open(f"{folder}/go", "w").close()
        wait_until(lambda: "rank 1 is heard" in run.said(), f"the other rank beside {what}")
        assert not run.grown(), f"{what}: {run.grown()} KiB"
    finally:
        os.path.exists(f"{folder}/go") and os.remove(f"{folder}/go")
        run.end()
    print(f"good: {what}", flush=True)


ENTERS = """
import os, socket, struct
key = bytes.fromhex(os.environ["TUTTI_DOOR_KEY"])
kept, answered = [], 0
for _ in range(200):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(30)
    one.connect(os.environ["TUTTI_DOOR"])
    one.send(struct.pack("=IIiI16s", 0x74645231, 1, 0, 0, key[:16]))
    answered += len(one.recv(4096)) > 0
    kept.append(one)
print("answered", answered, flush=True)
"""


def at_the_door():
    """A rank that enters again and again costs its daemon some descriptors, and no more."""
    job = subprocess.run([PRUN, "-np", "1", sys.executable, "-c", ENTERS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    words = job.stdout.split()
    assert job.returncode == 0 and words[:1] == ["answered"] and 0 < int(words[1]) < 50, job.stdout
    print("good: a rank that enters without end", flush=True)


def stands(pid, seen):
    """It has taken no more of the processor than at the last look."""
    now = stat_of(pid)[11:13]
    seen.append(now)
    return len(seen) > 200 and seen[-200] == now


def while_prun_stands(folder):
    run = Run(folder, CALL, BYTES, PARCELS)
    try:
        wait_until(lambda: len(run.ranks()) == 2, "the ranks")
        run.prun.send_signal(signal.SIGSTOP)
        speaker, seen = run.ranks()[0], []
        wait_until(lambda: stands(speaker, seen) or os.path.exists(f"{folder}/said"), "the rank to wait")
        grown = run.grown()
        run.prun.send_signal(signal.SIGCONT)
        assert not grown, f"while prun is stopped: {grown} KiB"
        wait_until(lambda: os.path.exists(f"{folder}/said"), "everything to be taken")
        open(f"{folder}/go", "w").close()
        assert run.prun.wait(LIMIT_S) == 0 and "rank 1 is heard" in run.said(), run.said()
    finally:
        run.prun.send_signal(signal.SIGCONT)
        run.end()
    print("good: prun is slow to take what is said", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for what, says, size in (("remarks", REMARK, BYTES), ("links", LINKS, BYTES), ("addresses", ADDRESS, 200),
                                 ("nonsense", UNKNOWN, 0)):
            endless(folder, what, says, size)
        while_prun_stands(folder)
    at_the_door()


main()
