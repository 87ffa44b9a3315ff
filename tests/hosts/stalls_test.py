#!/usr/bin/env python3
"""Stalls end no job, and a way that is cut ends it: on hosts with real ssh servers, and on one that joined.

A head that is stopped, a terminal that takes nothing, a joined host's reader that sleeps: for longer than
heartbeats may be missing (with TUTTI_TEST_LONG for five minutes). Usage: stalls_test.py PRUN"""
import os
import pty
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from jobs import LIMIT_S, Job, processes_with, wait_until  # noqa: E402
import lab as labs  # noqa: E402

PRUN = os.path.abspath(sys.argv[1])
STALL_S = 300 if os.environ.get("TUTTI_TEST_LONG") else 45  # heartbeats may be missing for 30 s
failures = 0


def check(what, good, said=""):
    global failures
    failures += not good
    print(f"{'ok' if good else 'FAILED'} {what}\n{'' if good else said}", flush=True, end="")


def way(lab):
    return ["--launch-agent", lab.agent, "-H", "a:1,b:1"]


def start(lab, script, **more):
    return Job(PRUN, way(lab), ["sh", "-c", script], ranks=2, inside=lab.on("head"), **more)


def stalls(lab):
    go = lab.path("go")
    waits = f"echo up; until [ -e {go} ]; do sleep 0.2; done; echo through"
    stopped = start(lab, waits)
    wait_until(lambda: stopped.said().count("up") == 2, "ranks of the head that will be stopped")
    ours, theirs = pty.openpty()
    unread = start(lab, f"echo up; i=0; while [ $i -lt 20000 ]; do echo line $i of many; i=$((i+1)); done; {waits}",
                   stdout=theirs)
    os.close(theirs)
    listens = subprocess.Popen([*lab.on("head"), PRUN, "--listen", "7411", "--key-file", lab.path("join"), "--nodes", "1",
                                "-np", "1", "sh", "-c", waits], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, text=True)
    wait_until(lambda: os.path.exists(lab.path("join")), "the key")
    joined = subprocess.Popen([*lab.on("a"), PRUN, "--join", f"{lab.address('head')}:7411", "--key-file", lab.path("join")],
                              stdin=subprocess.DEVNULL)
    line = ""
    while "up" not in line:
        line = listens.stdout.readline()
    heads = [stopped.prun.pid, listens.pid]
    for pid in heads:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(STALL_S)
    for pid in heads:
        os.kill(pid, signal.SIGCONT)
    with open(go, "w"):
        pass
    check(f"a head that was stopped for {STALL_S} s: its job lives", stopped.wait() == 0 and
          stopped.said().count("through") == 2, stopped.said())
    said = listens.communicate(timeout=LIMIT_S)[0]
    check("the same where a host has joined", listens.returncode == 0 and "through" in said and
          joined.wait(LIMIT_S) == 0, said)
    text = b""
    while text.count(b"through") < 2:
        text += os.read(ours, 65536)
    check(f"a terminal that took nothing for {STALL_S} s gets every line",
          unread.wait() == 0 and all(text.count(b"line %d of" % i) == 2 for i in (0, 10000, 19999)),
          unread.said())
    os.close(ours)
    os.unlink(go)


def cut(lab):
    """The way to b is cut: the head says so, and b's ranks are gone, though nobody tells them."""
    job = start(lab, "echo up; trap '' TERM; while :; do sleep 1; done")
    wait_until(lambda: job.said().count("up") == 2, "ranks")
    lab.run_on("head", "ip", "link", "set", "to-b", "down")
    check("a way that is cut ends the job", job.wait() == 206, job.said())
    wait_until(lambda: not processes_with(job.mark), "the end of ranks on the far side")
    check("and the ranks on the far side", True)
    lab.run_on("head", "ip", "link", "set", "to-b", "up")


def main():
    if reason := labs.missing():
        print(f"skipped: {reason}")
        sys.exit(77)
    lab = labs.Lab(["a", "b"])
    try:
        stalls(lab)
        cut(lab)
    finally:
        lab.close()
    sys.exit(1 if failures else 0)


main()
