#!/usr/bin/env python3
"""A rank that says without end what only the library should say to a daemon: the others are heard, daemon and prun do
not grow, and nothing waits for it at the end. words_test.py PRUN WORDS"""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import LIMIT_S, most_kib, parent_of, processes_with, stat_of, wait_until  # noqa: E402

PRUN, WORDS = map(os.path.abspath, sys.argv[1:])
ADDRESS, LINKS, REMARK, CALL, UNKNOWN = 2, 5, 9, 10, 77  # wireup/protocol.h
BYTES, PARCELS = 60000, 4000  # 240 MB in all
MOST_KIB = 100 << 10
ENOUGH_TICKS = 100  # of the processor, spent with speaking before it is looked who has grown


class Run:
    def __init__(self, folder, says, size, count):
        self.speaker = self.daemon = 0
        self.mark = f"words-{os.getpid()}-{says}-{size}-{count}"
        self.output = open(f"{folder}/output-{says}-{size}-{count}", "w+")
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

    def wait_for_ranks(self):
        wait_until(lambda: self.said() is not None and len(self.ranks()) == 2, "the ranks")
        self.speaker = self.ranks()[0]
        self.daemon = parent_of(self.speaker)

    def spent(self):
        """By the rank that speaks, in ticks of the processor."""
        stat = stat_of(self.speaker)
        assert stat and stat[0] not in "ZX", f"the rank that speaks has gone\n{self.said()}"
        return int(stat[11]) + int(stat[12])

    def stands(self, seen):
        """It has taken no more of the processor in the last looks."""
        seen.append(self.spent())
        return len(seen) > 200 and seen[-200] == seen[-1]

    def grown(self):
        """Of prun and the daemon, those that take more than they should."""
        return [kib for pid in (self.prun.pid, self.daemon) if (kib := most_kib(pid)) > MOST_KIB]

    def end(self):
        self.prun.send_signal(signal.SIGTERM)
        self.prun.wait(LIMIT_S)
        wait_until(lambda: not processes_with(self.mark), "all of it to end")


def endless(folder, what, says, size):
    run, seen = Run(folder, says, size, 0), []
    try:
        run.wait_for_ranks()
        if says in (LINKS, REMARK):
            wait_until(lambda: "says more than 1 MiB" in run.said(), f"{what} to be bounded")
        begun = run.spent()
        wait_until(lambda: run.spent() > begun + ENOUGH_TICKS or run.stands(seen), f"{what} to go on")
        open(f"{folder}/go", "w").close()
        wait_until(lambda: "rank 1 is heard" in run.said(), f"the other rank beside {what}")
        assert not run.grown(), f"{what}: {run.grown()} KiB"
        told = run.said().count("gives its addresses more than 16 times; the rest is not passed on")
        assert told == (says == ADDRESS), f"{what}: told {told} times"
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


def is_open(one):
    one.setblocking(False)
    try:
        return len(one.recv(4096)) > 0
    except BlockingIOError:
        return True


print("answered", answered, "open", sum(map(is_open, kept)), flush=True)
"""


def at_the_door():
    """A rank that enters again and again is let in, and costs its daemon 16 descriptors."""
    job = subprocess.run([PRUN, "-np", "1", sys.executable, "-c", ENTERS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    assert (job.returncode, job.stdout) == (0, "answered 200 open 16\n"), f"status {job.returncode}\n{job.stdout}"
    print("good: a rank that enters without end", flush=True)


VISITS = """
import os, signal, socket, struct
key, local = bytes.fromhex(os.environ["TUTTI_DOOR_KEY"]), 0
own = os.fstat(int(os.environ["TUTTI_SEGMENT_FD"])).st_ino
daemon = socket.socket(fileno=int(os.environ["TUTTI_CONTROL_FD"]))


def visit(wish):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(30)
    one.connect(os.environ["TUTTI_DOOR"])
    one.send(struct.pack("=IIiI16s", 0x74645231, wish, local, 0, key[:16]))
    return one


def segment(wish):
    with visit(wish) as one:
        return os.fstat(socket.recv_fds(one, 4096, 1)[1][0]).st_ino


for says in (1, 3):  # joined, finalized
    daemon.send(struct.pack("=IiI", says, os.getpid(), 0))
os.kill(os.getppid(), signal.SIGSTOP)
while open(f"/proc/{os.getppid()}/stat").read().rsplit(")", 1)[1].split()[0] != "T":
    pass
visit(2).close()  # of a process that is killed meanwhile, before its daemon hears it
os.kill(os.getppid(), signal.SIGCONT)
print("the same program" if segment(1) == own else "another", "then", "the next" if segment(2) != own else "the same", flush=True)
"""


def dead_at_the_door():
    """Who asked for a rank's next program and has died since is not that program."""
    job = subprocess.run([PRUN, "-np", "1", sys.executable, "-c", VISITS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    assert job.stdout.startswith("the same program then the next\n"), f"status {job.returncode}\n{job.stdout}"
    print("good: a visitor that died", flush=True)


ABORTS = """
import os, socket, sys, time
launcher = socket.socket(fileno=int(os.environ["PMI_FD"]))
while not os.path.exists(sys.argv[1] + "/stopped"):
    time.sleep(0.01)
for _ in range(400):
    launcher.sendall(b"cmd=abort exitcode=7 message=" + b"x" * 500000 + b"\\n")
open(sys.argv[1] + "/said", "w").close()
time.sleep(600)
"""


def aborts_without_end(folder):
    """By another MPI's words, whose texts may be long, while prun takes none."""
    mark = f"words-{os.getpid()}-aborts"
    job = subprocess.Popen([PRUN, "-np", "1", sys.executable, "-c", ABORTS, folder],
                           env=dict(os.environ, TUTTI_TEST_MARK=mark), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    try:
        rank = wait_until(lambda: [pid for pid, words in processes_with(mark).items() if words.startswith(sys.executable)],
                          "the rank")[0]
        job.send_signal(signal.SIGSTOP)
        open(f"{folder}/stopped", "w").close()
        wait_until(lambda: os.path.exists(f"{folder}/said"), "the rank to speak")
        kib = most_kib(parent_of(rank))
        job.send_signal(signal.SIGCONT)
        said, _ = job.communicate(timeout=LIMIT_S)
        assert kib < MOST_KIB, f"aborts: {kib} KiB"
        assert job.returncode == 7 and "says that it aborts more than 16 times" in said, f"{job.returncode}\n{said[:2000]}"
    finally:
        job.send_signal(signal.SIGCONT)
        job.terminate()
    wait_until(lambda: not processes_with(mark), "all of it to end")
    print("good: a rank that aborts without end", flush=True)


def while_prun_stands(folder):
    run, seen = Run(folder, CALL, BYTES, PARCELS), []
    try:
        run.wait_for_ranks()
        run.prun.send_signal(signal.SIGSTOP)
        wait_until(lambda: os.path.exists(f"{folder}/said") or run.stands(seen), "the rank to wait")
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
        for what, says, size in (("remarks", REMARK, BYTES), ("empty remarks", REMARK, 0), ("links", LINKS, BYTES),
                                 ("addresses", ADDRESS, 200), ("nonsense", UNKNOWN, 0)):
            endless(folder, what, says, size)
    with tempfile.TemporaryDirectory() as folder:
        while_prun_stands(folder)
    with tempfile.TemporaryDirectory() as folder:
        aborts_without_end(folder)
    at_the_door()
    dead_at_the_door()


main()
