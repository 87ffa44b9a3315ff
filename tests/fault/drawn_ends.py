#!/usr/bin/env python3
"""One rank's process ends at a drawn moment inside a collective, by each way that collectives go.

    drawn_ends.py PRUN DRAWN_ENDS [--seconds N] [--seed N] [--way WORD] [--hosts]

--hosts: over two virtual hosts, too.

Prints the seed first: the same seed draws the same jobs. Of each job are wanted: no wrong result before, an error of
the class of lost processes in each other rank where --enable-recovery lets them go on, the lost rank's status and one
line that says what became of it, and no process, socket or file left. DRAWN_ENDS (drawn_ends.cc) says what ranks do.
"""
import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import Job, leftovers, new_leftovers, processes_with, state_of, wait_until

CALLS = ["any"] * 12 + ["barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "gather", "gatherv", "scatter", "scatterv",
                        "allgather", "allgatherv", "alltoall", "alltoallv", "scan", "exscan", "message"]
PEER_LOST = 58  # MPI_ERR_PROC_ABORTED
ENDS = {"kill": (137, "was killed by signal 9"), "stop": (137, "was killed by signal 9"),
        "fault": (139, "was killed by signal 11"), "abort": (134, "was killed by signal 6"),
        "exit": (213, "ended with status 0 between MPI_Init and MPI_Finalize")}
LONGEST_US = 60_000
HOSTS = ["--virtual", "-H", "a:32,b:32", "--map-by", "node"]
FEW, MANY = [2, 3, 4, 5], [8, 16, 33, 64]  # ranks

# Name, numbers of ranks, the most bytes that any of them holds, options, variables.
WAYS = [
    ("as it comes", FEW, 8 << 20, [], {}),
    ("read where it lies", FEW, 8 << 20, [], {"TUTTI_SINGLE_COPY": "on"}),
    ("never read", FEW, 8 << 20, [], {"TUTTI_SINGLE_COPY": "off"}),
    ("cores for all", FEW, 8 << 20, ["--bind-to", "none"], {"HWLOC_SYNTHETIC": "core:16 pu:1"}),
    ("helped", FEW, 8 << 20, [], {"TUTTI_PROGRESS_US": "20"}),
    ("by tcp", FEW, 8 << 20, [], {"TUTTI_LINK": "tcp"}),
    ("in a crowd", MANY, 1 << 20, [], {}),
    ("in a crowd, read where it lies", MANY, 1 << 20, [], {"TUTTI_SINGLE_COPY": "on"}),
    ("by levels", [16, 33], 1 << 18, [], {"TUTTI_RANKS_PER_CACHE": "4"}),
    ("two hosts", FEW, 8 << 20, HOSTS, {}),
    ("two hosts, encrypted", FEW, 4 << 20, HOSTS, {"TUTTI_LINK_SECURITY": "encrypted"}),
    ("two hosts, by rails", FEW, 8 << 20, HOSTS, {"TUTTI_TCP_RAILS": "2"}),
    ("two hosts, in a crowd", [8, 16], 1 << 20, HOSTS, {}),
    ("two hosts, helped", FEW, 8 << 20, HOSTS, {"TUTTI_PROGRESS_US": "20"}),
]


class Drawn:
    """A job's parameters."""

    def __init__(self, chance, word):
        self.name, sizes, most, self.options, self.variables = chance.choice([way for way in WAYS if word in way[0]])
        self.size = chance.choice(sizes)
        self.call = chance.choice(CALLS)
        self.ints = max(2, (most >> chance.randrange(12)) // 4 // self.size)
        self.seed = chance.randrange(1 << 30)
        self.victim = chance.randrange(self.size)
        self.how = chance.choice(list(ENDS))
        self.after_us = chance.randrange(LONGEST_US)
        self.goes_on = chance.randrange(2) == 0
        self.stopped_s = chance.uniform(0, 0.2)

    def __str__(self):
        return (f"{self.name}: rank {self.victim} of {self.size} ends by {self.how} after {self.after_us} us in {self.call} of "
                f"{self.ints} integers, seed {self.seed}{', the others go on' if self.goes_on else ''}")

    def start(self, prun, program):
        options = [*self.options, "--oversubscribe", *(["--enable-recovery"] if self.goes_on else [])]
        for name, value in self.variables.items():
            options += ["-x", f"{name}={value}"]
        arguments = [self.call, self.ints, self.seed, self.victim, self.how, self.after_us]
        return Job(prun, [], [program, *map(str, arguments)], options=options, ranks=self.size)


def problem_of(drawn, status, said):
    """What is wrong with this end, or nothing."""
    wanted, reason = ENDS[drawn.how]
    if "WRONG" in said:
        return "a wrong result"
    lines = [line for line in said.splitlines() if line.startswith("prun: ")]
    if status != wanted:
        return f"status {status}, not {wanted}"
    if not any(re.search(rf"\brank {drawn.victim}\b.*{reason}", line) for line in lines):
        return f"no line of prun's says that rank {drawn.victim} {reason}"
    heard = re.findall(r"^rank (\d+) heard class (\d+)$", said, re.MULTILINE)
    if any(int(error_class) != PEER_LOST for _, error_class in heard):
        return "an error of another class"
    others = set(range(drawn.size)) - {drawn.victim}
    if drawn.goes_on and {int(rank) for rank, _ in heard} != others:
        return f"no error in {sorted(others - {int(rank) for rank, _ in heard})}"
    return ""


def stopped_one(job):
    return [pid for pid, command in processes_with(job.mark).items() if state_of(pid) == "T" and "prun" not in command.split()[0]]


def stacks_of(job):
    """For a job that hangs."""
    return subprocess.run(["sh", "-c", "for p in %s; do echo == $p; cat /proc/$p/wchan /proc/$p/cmdline | tr '\\0' ' '; done"
                           % " ".join(map(str, processes_with(job.mark)))], capture_output=True, text=True).stdout


def run(drawn, prun, program):
    before = leftovers()
    job = drawn.start(prun, program)
    try:
        if drawn.how == "stop":
            for pid in wait_until(lambda: stopped_one(job) or (job.prun.poll() is not None and [0]), "the stopped rank"):
                time.sleep(drawn.stopped_s)
                if pid > 0:
                    os.kill(pid, signal.SIGKILL)
        status = job.wait()
        job.survivors_gone()
    except (AssertionError, subprocess.TimeoutExpired) as problem:
        hanging = stacks_of(job)
        for pid in processes_with(job.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return f"{problem}\n{hanging}", job.said()
    extra = new_leftovers(before)
    return f"left behind {extra}" if extra else problem_of(drawn, status, job.said()), job.said()


def has_namespaces(prun):
    return subprocess.run([prun, "--virtual", "-H", "a", "true"], capture_output=True).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prun", type=os.path.abspath)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=600 if os.environ.get("TUTTI_TEST_LONG") else 10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--way", default="")
    parser.add_argument("--hosts", action="store_true")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    chance = random.Random(given.seed)
    hosts = given.hosts and has_namespaces(given.prun)
    if given.hosts and not hosts:
        print("skipped virtual hosts: this kernel does not permit them")
    deadline = time.monotonic() + given.seconds
    jobs, failed = 0, 0
    while time.monotonic() < deadline:
        drawn = Drawn(chance, given.way)
        if "--virtual" in drawn.options and not hosts:
            continue
        jobs += 1
        problem, said = run(drawn, given.prun, given.program)
        if problem:
            failed += 1
            print(f"FAILED {drawn}: {problem}\n{said}", flush=True)
    print(f"{jobs} jobs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
