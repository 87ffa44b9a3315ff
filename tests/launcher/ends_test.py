#!/usr/bin/env python3
"""Signals, time limits and ranks that cannot start. Usage: ends_test.py PRUN"""
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from checks import check, result, run
from jobs import LIMIT_S, Started, free_port, wait_until

PRUN = os.path.abspath(sys.argv[1])


for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):  # whoever started us may have ignored them
    signal.signal(number, signal.SIG_DFL)


def ignored_signals():
    job = subprocess.Popen(["nohup", PRUN, "-np", "1", "sh", "-c", "echo up; sleep 2; echo through"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
    line = ""
    while "up" not in line:
        line = job.stdout.readline()
    job.send_signal(signal.SIGHUP)
    said = job.stdout.read()
    check("SIGHUP that was ignored stays ignored", job.wait() == 0 and "through" in said, said)
    done = run(sys.executable, "-c",
               "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])",
               PRUN, "-np", "2", "--oversubscribe", "sh", "-c", "true; echo done")
    check("SIGCHLD that was ignored is heard", done.returncode == 0 and done.stdout == "done\ndone\n", done)


def passed_on():
    """Signals that end nothing here are the ranks'; the group's and timeout's own are one interrupt."""
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGABRT):
        name = signal.Signals(number).name
        job = Started([PRUN, "--oversubscribe", "-np", "2", "bash", "-c",
                       f"trap 'echo heard; exit 0' {name[3:]}; echo up; while :; do sleep 0.1; done"], os.environ)
        wait_until(lambda: job.said().count("up") == 2, "the ranks")
        job.process.send_signal(number)
        check(f"{name} is the ranks'", job.wait() == 0 and job.said().count("heard") == 2, job.said())
    slow = "trap 'sleep 2; echo tidied; exit 0' INT TERM; echo up; while :; do sleep 0.1; done"
    # Both go to prun: timeout tells its child, then the group that both are in. Its time is over when the rank is up.
    job = Started(["timeout", "-s", "INT", "600", PRUN, "-np", "1", "bash", "-c", slow], os.environ)
    wait_until(lambda: "up" in job.said(), "the rank")
    job.process.send_signal(signal.SIGALRM)
    status, said = job.wait(), job.said()
    check("timeout -s INT is one interrupt", status == 124 and "tidied" in said, f"{status} {said}")


def between_rounds():
    """While prun waits for hosts."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
            job = Started([PRUN, "--listen", str(free_port()), "--key-file", f"{folder}/key", "--nodes", "2", "true"],
                          os.environ)
            wait_until(lambda: "waiting for hosts at port" in job.said(), "prun to wait")
            job.process.send_signal(number)
            check(f"signal {number} ends a prun that waits for hosts",
                  job.wait() == 128 + number and "signal while waiting for hosts" in job.said(), job.said())
        job = Started([PRUN, "--timeout", "1", "--listen", str(free_port()), "--key-file", f"{folder}/key", "--nodes",
                       "2", "true"], os.environ)
        check("--timeout ends it, too", job.wait() == 207 and "--timeout" in job.said(), job.said())


def before_ranks():
    """What ranks would be given ends nothing while there are none, but for SIGABRT."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        mark, agent = f"{folder}/called", f"{folder}/agent"
        with open(agent, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n: > {mark}\nexec sleep 60\n")
        os.chmod(agent, 0o700)
        job = Started([PRUN, "--launch-agent", agent, "-H", "never.invalid", "-np", "1", "true"], os.environ)
        wait_until(lambda: os.path.exists(mark), "the agent")
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGABRT):
            job.process.send_signal(number)
        check("SIGABRT ends a prun that has no ranks yet",
              job.wait() == 134 and "ended by a signal while starting daemons" in job.said(), job.said())


def joined_for_nothing():
    """A host that joined and got no rank ends as the job does, through restarts too."""
    for script, status in (("sleep 1", 0), ("exit $((5 * (1 - TORCHELASTIC_RESTART_COUNT)))", 0), ("exit 5", 5)):
        with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
            port, key = free_port(), f"{folder}/key"
            head = Started([PRUN, "--max-restarts", "1", "--listen", str(port), "--key-file", key, "--nodes", "2", "-np",
                            "1", "sh", "-c", script], os.environ)
            wait_until(lambda: os.path.exists(key), "the key file")
            hosts = [Started([PRUN, "--join", f"localhost:{port}", "--key-file", key], os.environ) for _ in range(2)]
            got = [one.wait() for one in (head, *hosts)]
            check(f"a joined host without ranks: {script}", got == [status] * 3,
                  f"{got} {head.said()} {[one.said() for one in hosts]}")


def one_time_limit():
    done = run(PRUN, "--timeout", "3", "--max-restarts", "100", "-np", "1", "sh", "-c", "sleep 0.5; exit 1")
    check("--timeout counts all restarts together", done.returncode == 207 and "time limit" in done.stderr, done)


def is_full(pipe):
    """What nobody reads: nobody can write there either."""
    return not select.select([], [pipe], [], 0)[1]


def nobody_reads():
    """Standard output whose reader takes nothing."""
    for what, act, status in (("--timeout", lambda job: None, 207), ("a signal", lambda job: job.send_signal(signal.SIGTERM), 143)):
        for limit_s in (1, 10, 50):  # a longer one where there was nothing to be read by then
            options = ["--timeout", str(limit_s)] if status == 207 else []
            read, write = os.pipe()
            job = subprocess.Popen([PRUN, *options, "-np", "1", "yes"], stdout=write, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, text=True)
            wait_until(lambda: is_full(write) or job.poll() is not None, "the flood")
            came = job.poll() is None
            os.close(write)
            if came:
                act(job)
            said = job.communicate(timeout=LIMIT_S)[1]
            os.close(read)
            if came:
                break
        check(f"nobody reads: {what} ends the job, and what is dropped is told",
              job.returncode == status and "bytes of standard output could not be written: its reader takes" in said,
              f"{job.returncode} {said}")


def stands_still(pid):
    """It used no processor for a moment."""
    def used():
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[11:13]
    before = used()
    time.sleep(0.5)
    return used() == before


def abort_overtakes():
    """A rank's abort and end are acted on while output waits for a reader."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        read, write = os.pipe()
        flood = f"echo $$ > {folder}/pid; exec yes"
        job = subprocess.Popen([PRUN, "--oversubscribe", "-np", "1", "sh", "-c", flood, ":", "-np", "1", "sh", "-c",
                                f"until [ -e {folder}/go ]; do sleep 0.1; done; exit 9"], stdout=write,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        wait_until(lambda: os.path.exists(f"{folder}/pid") and open(f"{folder}/pid").read(), "the flood")
        flooding = int(open(f"{folder}/pid").read())
        wait_until(lambda: is_full(write) and stands_still(flooding), "the flood to stand still")
        os.close(write)
        open(f"{folder}/go", "w").close()
        wait_until(lambda: not os.path.exists(f"/proc/{flooding}"), "the flood's end")
        check("a rank's end is acted on though nobody reads", job.poll() is None)
        with os.fdopen(read, "rb") as reader:
            said = reader.read()
        told = job.communicate(timeout=LIMIT_S)[1]
        check("and what was written before still comes", set(said.split(b"\n")[:-1]) == {b"y"}, said[:100])
        check("with the right status", job.returncode == 9 and "rank 1" in told, f"{job.returncode} {told}")


def abort_in_a_flood():
    """An abort by PMI is acted on though the rank's pipe always holds more to read."""
    done = subprocess.run([PRUN, "-np", "1", "bash", "-c", 'yes & yes & echo "cmd=abort exitcode=5" >&$PMI_FD; sleep 3600'],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=LIMIT_S)
    check("an abort ends a rank that writes without end", done.returncode == 5 and "rank 0" in done.stderr, done)


def recovery():
    done = run(PRUN, "--enable-recovery", "--spawn-timeout", "5", "--oversubscribe", "-np", "1", "sh", "-c",
               "sleep 7; echo healthy", ":", "-np", "1", "/no/such/program")
    check("--enable-recovery: a program that cannot start harms no other",
          "healthy" in done.stdout and "/no/such/program" in done.stderr, done)


ignored_signals()
before_ranks()
passed_on()
between_rounds()
joined_for_nothing()
one_time_limit()
nobody_reads()
abort_overtakes()
abort_in_a_flood()
recovery()
result()
