#!/usr/bin/env python3
"""prun --ps, --stacks and --gdb find running jobs and say what their ranks are in: asks.py PRUN PROGRAM"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import jobs
from checks import check

LIMIT_S = 120


def with_path(folder):
    return dict(os.environ, PATH=folder + ":" + os.environ["PATH"]) if folder else None


class Job:
    """A job whose last rank never comes to the call that the others are in."""

    def __init__(self, prun, program, options, errors=subprocess.DEVNULL, path=None, what="missing"):
        self.prun = prun
        self.process = subprocess.Popen([prun, "--hang-report", "0", *options, program, what],
                                        stdin=subprocess.DEVNULL, stderr=errors, env=with_path(path))
        self.pid = str(self.process.pid)

    def ask(self, *words, path=None):
        done = subprocess.run([self.prun, *words], capture_output=True, text=True, timeout=LIMIT_S, env=with_path(path),
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    def wait_for(self, pattern, *question):
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            said = self.ask(*question)[1]
            if re.search(pattern, said, re.S):
                return said
            time.sleep(0.2)
        raise AssertionError(f"waited {LIMIT_S} s for '{pattern}'; the last answer: {said}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def after_a_report(prun, program):
    """Stacks that another prun asks for are not shown in the job, also when it has shown some itself."""
    with tempfile.TemporaryFile() as log:
        job = Job(prun, program, ["--oversubscribe", "-np", "3", "--hang-report", "1"], log)
        try:
            shown = lambda: os.pread(log.fileno(), 1 << 20, 0).decode()
            # Not of the start, if that was slow: after this one nothing moves any more.
            last = r"ranks 0-1: MPI_Allreduce on .*waited for: rank 2\n    stack of rank 2 [^\n]*\n.*\n$"
            jobs.wait_until(lambda: re.search(last, shown(), re.S), "a report of the missing rank's stack", LIMIT_S)
            before = shown()
            status, said = job.ask("--stacks", job.pid)
            check(status == 0 and "rank 2" in said, "--stacks after a report", said)
            check(shown() == before, "which shows nothing more in the job", shown())
        finally:
            job.end()


def by_a_tool_that_hangs(prun, program):
    """A debugger that is killed leaves its process stopped; not a rank."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/eu-stack", "w") as file:
            file.write('#!/bin/sh\nfor pid; do :; done\nkill -STOP $pid; echo $pid > $0.stopped; exec sleep 600\n')
        os.chmod(f"{folder}/eu-stack", 0o755)
        job = Job(prun, program, ["-np", "1"], path=folder)
        try:
            job.wait_for(f" {job.pid} ", "--ps")
            said = job.wait_for("the tool did not end within 20 s", "--stacks", job.pid)
            with open(f"{folder}/eu-stack.stopped") as file:
                rank = int(file.read())
            check(jobs.state_of(rank) != "", "a tool that hangs is given up", said)
            jobs.wait_until(lambda: jobs.state_of(rank) not in "Tt", "the rank to go on")
        finally:
            job.end()


def about(name, prun, program, options, last_host):
    job = Job(prun, program, options)
    try:
        job.wait_for(f" {job.pid} ", "--ps")
        # Not the barrier before, to which the last one may come late.
        said = job.wait_for("MPI_Allreduce on MPI_COMM_WORLD.*waited for: rank 2\n", "--stacks", job.pid)
        if "no eu-stack" not in said:
            check("stack of rank 2 on host" in said, f"{name}: --stacks shows the missing rank's stack", said)
            check(re.search(r"^ +#\d+ +main\b", said, re.M) and "Allreduce" in said, f"{name}: frames have names", said)
        line = next(row for row in job.ask("--ps")[1].splitlines() if f" {job.pid} " in row)
        check("3/3" in line and "running" in line and "missing" in line, f"{name}: --ps shows the job", line)
        number = line.split()[0]
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/gdb", "w") as file:
                file.write('#!/bin/sh\necho "gdb was given: $*"; readlink /proc/$2/exe\n')
            os.chmod(f"{folder}/gdb", 0o755)
            status, said = job.ask("--gdb", f"2@{number}", path=folder)
        check(status == 0 and "gdb was given: -p " in said and os.path.realpath(program) in said,
              f"{name}: --gdb attaches to the process of the rank", said)
        check(f"on host {last_host}" in said, f"{name}: --gdb names its host", said)
        status, said = job.ask("--gdb", f"7@{job.pid}")
        check(status == 2 and "ranks 0 to 2" in said, f"{name}: a rank that is none is told", said)
    finally:
        job.end()
    check(f" {job.pid} " not in job.ask("--ps")[1], f"{name}: a job that is over is not listed")
    status, said = job.ask("--stacks", job.pid)
    check(status == 2 and f"no job {job.pid}" in said, f"{name}: a job that is over is told", said)


def comes_late(prun, program):
    """Over several hosts MPI_Init waits for all."""
    job = Job(prun, program, ["--virtual", "-np", "3", "-H", "a:2,b:1"], what="late")
    try:
        job.wait_for(f" {job.pid} ", "--ps")
        said = job.wait_for("MPI_Init_thread, for .*waited for: rank 2\n", "--stacks", job.pid)
        check("rank 2 on host b: not in MPI yet" in said, "who has not come to MPI_Init is waited for", said)
    finally:
        job.end()


def main():
    prun, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    about("one host", prun, program, ["-np", "3"], os.uname().nodename)
    after_a_report(prun, program)
    by_a_tool_that_hangs(prun, program)
    tried = subprocess.run([prun, "--virtual", "-H", "a,b", "-np", "2", "true"], capture_output=True, text=True)
    if tried.returncode == 208:
        print(f"skipped two hosts: {tried.stderr.strip()}")
    else:
        comes_late(prun, program)
        about("two hosts", prun, program, ["--virtual", "-np", "3", "-H", "a:2,b:1"], "b")
    done = subprocess.run([prun, "--gdb", "x"], capture_output=True, text=True)
    check(done.returncode == 2 and "not a rank" in done.stderr, "a rank that is no number is told", done.stderr)
    done = subprocess.run([prun, "-v", "--report-pid", "-", "-np", "1", "true"], capture_output=True, text=True)
    check(done.stdout.strip().isdigit(), "--report-pid prints prun's number", done.stdout)
    check("running, " in done.stderr and "cleaning up, " in done.stderr, "-v tells each state", done.stderr)
    done = subprocess.run([prun, "--report-pid", "/nowhere/pid", "-np", "1", "true"], capture_output=True, text=True)
    check(done.returncode == 2 and "/nowhere/pid cannot be written" in done.stderr, "and that it cannot", done.stderr)
    done = subprocess.run([prun, "-np", "2", "--oversubscribe", "--map-by", "numa", "--bind-to", "numa", "sh", "-c",
                           "T=$OMP_NUM_THREADS; unset OMP_NUM_THREADS; echo $T $(nproc)"], capture_output=True, text=True,
                          env={name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"})
    lines = [line.split() for line in done.stdout.splitlines()]
    if lines and lines[0] == lines[-1]:  # one NUMA node: both are bound to the same
        check(int(lines[0][0]) <= max(1, int(lines[0][1]) // 2), "ranks bound to the same cores share them", done.stdout)


main()
