#!/usr/bin/env python3
"""Random ranks that print, close, fork, filter, stop and exit, before readers that stall and a prun that is stopped: what
went in comes out, in order, and nothing is left. A minute; 20 s with TUTTI_TEST_QUICK, ten minutes with
TUTTI_TEST_LONG, and as long as TUTTI_TEST_STRESS_SECONDS says.
Usage: stress_test.py PRUN [SEED]: from this seed on, one job after the other; the one that fails is named."""
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

from checks import check, result
from jobs import Job, Sshd, no_ssh_server
from stress_lines import line_of

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
PRUN = os.path.abspath(sys.argv[1])
LASTS_S = int(os.environ.get("TUTTI_TEST_STRESS_SECONDS") or
              (600 if os.environ.get("TUTTI_TEST_LONG") else 20 if os.environ.get("TUTTI_TEST_QUICK") else 60))


class Reader(threading.Thread):
    """Takes some, and now and then nothing."""

    def __init__(self, fd, seed):
        super().__init__()
        self.fd, self.dice, self.got = fd, random.Random(seed), b""
        self.start()

    def run(self):
        while part := os.read(self.fd, self.dice.choice([100, 4096, 1 << 20])):
            self.got += part
            if self.dice.random() < 0.02:
                time.sleep(self.dice.random())
        os.close(self.fd)


def disturb(job, dice):
    """prun itself stands still for a moment, if it does not end meanwhile."""
    for _ in range(dice.randrange(3)):
        time.sleep(dice.random() * 0.5)
        job.prun.send_signal(signal.SIGSTOP)
        time.sleep(dice.random() * 0.5)
        job.prun.send_signal(signal.SIGCONT)


def judge(text, stream, folder, whole):
    """What is wrong with these lines: of each writer all are there, in order. Where a rank failed the others are ended:
    lines may be missing, and torn where somebody was ended in the middle of one."""
    seen = {}
    lines = text.decode().split("\n")
    if lines.pop() and whole:
        return "the last line has no end"
    for line in lines:
        match = re.match(r"(\d+\.\d+) (\d+) x*$", line)
        if not match:
            if stream == 2 or not whole:  # prun's own
                continue
            return f"no line of ours: {line[:100]}"
        name, counter = match.group(1), int(match.group(2))
        expected = seen.get(name, 0)
        if (counter != expected if whole else counter < expected) or (whole and line != line_of(name, counter)):
            return f"after {seen.get(name, 0)} lines of {name}: {line[:100]}"
        seen[name] = counter + 1
    for name in os.listdir(folder) if whole else ():
        with open(f"{folder}/{name}") as file:
            told_stream, count = map(int, file.read().split())
        if told_stream == stream and seen.get(name, 0) != count:
            return f"{seen.get(name, 0)} of {count} lines of {name}"
    return ""


def one_job(seed, ssh):
    dice = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="stress-")
    ways = [["--oversubscribe"], ["--oversubscribe", "--virtual", "-H", "a:3,b:3"]]
    if ssh:
        ways.append(["--oversubscribe", "--launch-agent", ssh.agent, "-H", "a:3,b:3"])
    way, ranks, fails = dice.choice(ways), dice.randrange(1, 7), dice.random() < 0.2
    pipes = [os.pipe(), os.pipe()]
    # stderr of the job: a shell puts it beside the log that Job keeps.
    job = Job(PRUN, way, [sys.executable, f"{HERE}/stress_rank.py", str(seed), folder, "fails" if fails else "good"],
              ranks=ranks, stdout=pipes[0][1], pass_fds=[pipes[1][1]],
              inside=["sh", "-c", f'exec "$@" 2>&{pipes[1][1]}', "sh"])
    for _, end in pipes:
        os.close(end)
    readers = [Reader(pipe[0], f"{seed} {stream}") for stream, pipe in enumerate(pipes)]
    disturb(job, dice)
    status = job.wait()
    job.survivors_gone()
    problems = [] if status == (3 if fails else 0) else [f"status {status}"]
    for stream, reader in enumerate(readers, 1):
        reader.join()
        # Of a rank that failed prun repeats what it wrote last, on its standard error.
        problem = "" if fails and stream == 2 else judge(reader.got, stream, folder, whole=not fails)
        problems += [f"stream {stream}: {problem}"] if problem else []
    shutil.rmtree(folder)
    if problems:
        own = [line for line in readers[1].got.decode().split("\n") if "prun" in line]
        check(f"seed {seed}: {ranks} ranks {' '.join(way)}{', one fails' if fails else ''}", False,
              "\n".join(problems + own))
    return not problems


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time()) if os.environ.get("TUTTI_TEST_LONG") else 15
    ssh = None if no_ssh_server() else Sshd(["a", "b"])
    done = 0
    try:
        until = time.monotonic() + LASTS_S
        while time.monotonic() < until:
            if not one_job(seed + done, ssh):
                break
            done += 1
    finally:
        if ssh:
            ssh.close()
    check(f"{done} jobs from seed {seed} on: what went in came out", done > 0)
    result()


main()
