#!/usr/bin/env python3
"""Names of desks (prun --ps, --stacks, --gdb) are held by others, and by liars of this user: nobody of another user
is asked, nothing that an answer says is executed, terminals are not steered, and no answer is endless.
desks.py PRUN"""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import LIMIT_S, wait_until  # noqa: E402

NOBODY = 65534
EVIL = f"evil-{os.getpid()}\x1b[31m"  # in no other job's words: --ps lists those of this machine
SHOWN = EVIL.replace("\x1b", "\\x1b")


def check(condition, what, said=""):
    if not condition:
        print(f"FAILED: {what}\n{said}")
        sys.exit(1)
    print(f"good: {what}", flush=True)


def serve(pids, answers, ready):
    """Holds the names of these pids and answers as ANSWERS(question, connection) says."""
    listeners = []
    for pid in pids:
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(f"\0tutti-prun-{pid}")
        except OSError:
            continue
        listener.listen(16)
        listeners.append(listener)

    def one(connection):
        with connection:
            try:
                answers(connection.makefile().readline().strip(), connection)
            except OSError:
                pass

    def loop(listener):
        while True:
            threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    for listener in listeners:
        threading.Thread(target=loop, args=(listener,), daemon=True).start()
    os.write(ready, b"x")
    signal.pause()


class Liar:
    """A process, of another user perhaps, that holds names."""

    def __init__(self, pids, answers, uid=None):
        ready, say = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                if uid is not None:
                    os.setgroups([])
                    os.setgid(uid)
                    os.setuid(uid)
                serve(pids, answers, say)
            finally:
                os._exit(1)
        os.close(say)
        os.read(ready, 1)
        os.close(ready)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def lies(pid, folder):
    def answers(question, connection):
        # An agent of the answer's choice, as the answers of older versions had it.
        text = {"ps": f"4711\t{pid}\t1/1\t1\t1\trunning\t{EVIL}\n",
                "stacks": f"stack of rank 0\n\tmain {EVIL}\n"}.get(
                    question, f"at\t1234\thost\tthere\ttouch {folder}/executed\n")
        connection.sendall(text.encode())
    return answers


def flood(question, connection):
    block = b"x" * (1 << 20)
    while True:
        connection.sendall(block)


def trickle(question, connection):
    while True:
        connection.sendall(b"x")
        time.sleep(0.2)


def stuffed(line):
    def answers(question, connection):
        connection.sendall(b"4711\t1\t1/1\t1\t1\trunning\tx\n" if question == "ps" else line)
    return answers


class Asker:
    def __init__(self, prun):
        self.prun = prun

    def ask(self, *words, **how):
        began = time.monotonic()
        done = subprocess.run([self.prun, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=200, **how)
        self.took = time.monotonic() - began
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def liars_of_ours(asker, folder):
    me = os.getpid()
    with Liar([me], lies(me, folder)):
        status, out, err = asker.ask("--ps")
        check(f" {me} " in out and "\x1b" not in out and SHOWN in out,
              "--ps: control characters are shown, not obeyed", out + err)
        status, out, err = asker.ask("--stacks", str(me))
        check(f"stack of rank 0\n\tmain {SHOWN}\n" in out, "--stacks: the same, lines stay lines", out + err)
        status, out, err = asker.ask("--gdb", f"0@{me}")
        check(status == 2 and "makes no sense" in err and not os.listdir(folder),
              "--gdb: nothing that an answer says is executed", out + err)
    for words, what in ((b"at\t1\thost\tthere\n", "process 1"), (b"at\t-5\thost\tthere\n", "a negative process"),
                        (b"at\t5 6\thost\there\n", "two processes"), (b"at\t99\t-oProxyCommand=x\tthere\n", "an option"),
                        (b"at\t99\ta;touch x\tthere\n", "shell text"), (b"at\t99\thost\tnowhere\n", "nowhere")):
        with Liar([me], stuffed(words)):
            status, out, err = asker.ask("--gdb", f"0@{me}")
            check(status == 2 and "makes no sense" in err, f"--gdb: {what} is refused", out + err)
    # What is right goes to this prun's own agent.
    agent = f"{folder}/ssh"
    with open(agent, "w") as file:
        file.write('#!/bin/sh\necho "agent: $*"\n')
    os.chmod(agent, 0o755)
    with Liar([me], stuffed(b"at\t99\thost\tthere\n")):
        status, out, err = asker.ask("--launch-agent", f"{agent} -v", "--gdb", f"0@{me}")
        check(status == 0 and out == "agent: -v -t host gdb -p 99\n", "--gdb: the asker's own agent is used", out + err)
    os.remove(agent)
    with Liar([me], lambda question, c: flood(question, c) if question == "stacks" else lies(me, folder)(question, c)):
        status, out, err = asker.ask("--stacks", str(me))
        check(status == 2 and len(out) <= 1 << 20 and "first MiB" in err, "--stacks: at most 1 MiB of an answer", err)
    with Liar([me], flood):
        status, out, err = asker.ask("--ps")
        check(status == 0 and "xxx" not in out, f"--ps: a flood is cut off ({asker.took:.1f} s)", out + err)
    with Liar([me], trickle):
        status, out, err = asker.ask("--ps")
        check(status == 0 and "xxx" not in out, f"--ps: a trickle has one deadline ({asker.took:.1f} s)", out + err)


def others(asker, folder):
    """Another user holds the name of a prun before it starts, and a thousand more."""
    job = subprocess.Popen(["sh", "-c", 'kill -STOP $$; exec "$0" -np 1 sleep 1000', asker.prun],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_until(lambda: open(f"/proc/{job.pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T", "the stopped shell")
    held = [job.pid, *range(job.pid + 100_000, job.pid + 101_000)]
    with Liar(held, lies(job.pid, folder), NOBODY):
        job.send_signal(signal.SIGCONT)
        said = job.stderr.readline().decode()
        check(f"@tutti-prun-{job.pid} is taken" in said, "a prun whose name is taken says so", said)
        status, out, err = asker.ask("--ps")
        check(not re.search("^4711 ", out, re.M) and SHOWN not in out + err, "--ps: another user's inventions are not listed", out + err)
        check(f"@tutti-prun-{job.pid} is held by user {NOBODY}" in err and err.count("\n") == 1,
              "--ps: the name that is taken is told, others' names are not", err)
        for words in (["--gdb", f"0@{job.pid}"], ["--gdb", "0@4711"], ["--stacks", str(job.pid)]):
            status, out, err = asker.ask(*words)
            check(status == 2 and not out and "no job" in err and not os.listdir(folder),
                  f"{' '.join(words)}: another user is not asked", out + err)
    ear, mouth = os.pipe()

    def tells_and_floods(question, connection):
        os.write(mouth, question.encode())
        flood(question, connection)

    with Liar(held, tells_and_floods, NOBODY):
        status, out, err = asker.ask("--ps")
    os.close(mouth)
    heard = os.read(ear, 4096)
    os.close(ear)
    check(status == 0 and "xxx" not in out and not heard, "--ps: others are asked nothing, and their floods not read",
          f"{heard}\n{out}{err}")
    job.terminate()
    job.wait()


def full(asker):
    """Another user's desk that takes nobody in, its queue full."""
    with Liar([10**9 + os.getpid()], trickle, NOBODY) as liar:
        os.kill(liar.pid, signal.SIGSTOP)
        queue = []
        while True:
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            try:
                one.connect(f"\0tutti-prun-{10**9 + os.getpid()}")
            except BlockingIOError:
                break
            queue.append(one)
        status, out, err = asker.ask("--ps")
        check(status == 0 and "xxx" not in out, f"--ps: a full queue is not waited for ({asker.took:.1f} s)", err)


def asked_by_others(asker, folder):
    """The real desk answers this user and root, and a crowd of others keeps nobody out."""
    job = subprocess.Popen([asker.prun, "-np", "1", "sleep", "1000"], stdin=subprocess.DEVNULL)
    wait_until(lambda: f" {job.pid} " in asker.ask("--ps")[1], "the job in --ps")
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setuid(NOBODY)
        got = b""
        for _ in range(300):
            one = socket.socket(socket.AF_UNIX)
            one.settimeout(LIMIT_S)
            try:
                one.connect(f"\0tutti-prun-{job.pid}")
                one.sendall(b"ps\n")
                got += one.recv(4096)
            except OSError:
                pass
        os.write(theirs, got or b"nothing")
        os._exit(0)
    heard = os.read(ours, 4096)
    os.waitpid(child, 0)
    check(heard == b"nothing", "another user hears nothing at the desk", heard)
    check(f" {job.pid} " in asker.ask("--ps")[1], "and keeps nobody from it")
    job.terminate()
    job.wait()


def main():
    asker = Asker(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        liars_of_ours(asker, folder)
        if os.geteuid() != 0:
            print("skipped: other users' names need root here")
            return
        others(asker, folder)
        full(asker)
        asked_by_others(asker, folder)


main()
