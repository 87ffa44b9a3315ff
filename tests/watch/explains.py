#!/usr/bin/env python3
"""prun explains jobs that stand still and collectives that do not match: explains.py PRUN PROGRAM"""
import os
import re
import subprocess
import sys
import tempfile
import time

from checks import check

LIMIT_S = 120
ONE_HOST = ["-np", "4"]
TWO_HOSTS = ["--virtual", "-np", "3", "-H", "a:2,b:1"]


def run(prun, options, program, *what, env=None):
    done = subprocess.run([prun, *options, program, *what], capture_output=True, text=True, timeout=LIMIT_S, env=env,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr


def to_limit(prun, options, program, *what, env=None):
    """Of a job that its time limit ends: the limit gives ranks as long for their start as to stand still, or it is tried
    again with a longer one."""
    ranks = int(options[options.index("-np") + 1])
    for limit_s in (4, 20, 80):
        begun, there_s, said = time.monotonic(), [], ""
        with subprocess.Popen([prun, "--timeout", str(limit_s), *options, program, *what], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env) as job:
            for line in job.stderr:
                said += line
                if line.endswith(" is there\n"):
                    there_s.append(time.monotonic() - begun)
        if job.returncode != 207 or (len(there_s) == ranks and there_s[-1] < limit_s / 2):
            break
    return job.returncode, said


def main():
    prun, program = sys.argv[1:]
    for where in (ONE_HOST, TWO_HOSTS):
        last = int(where[where.index("-np") + 1]) - 1
        status, said = to_limit(prun, ["--hang-report", "0.5", *where], program, "missing")
        check(status == 207, "the time limit ends a job that stands still", said)
        check("no rank has moved" in said and said.count(f"ranks 0-{last - 1}: MPI_Allreduce on ") == 1,
              "a standstill is reported once", said)
        check("MPI_Allreduce on MPI_COMM_WORLD, its collective number 2, 16 B" in said, "the call is named", said)
        check(f"waited for: rank {last}\n" in said, "who is missing is named", said)
        if "stack of rank" in said and "no eu-stack" not in said:
            check(re.search(r"^ +#\d+ +main\b", said, re.M), "the stack of the missing rank is shown", said)
        for what, words in {
            "other": "MPI_Bcast(root 0, 16 B)",
            "type": "MPI_Allreduce(4 x MPI_FLOAT, MPI_SUM)",
            "count": "MPI_Allreduce(3 x MPI_INT, MPI_SUM)",
            "operation": "MPI_Allreduce(4 x MPI_INT, MPI_MAX)",
            "root": "MPI_Bcast(root 1, 16 B)",
        }.items():
            if what == "root" and where is TWO_HOSTS:
                continue  # found only among the ranks of one host; elsewhere the hang report says it
            status, said = run(prun, ["--timeout", "60", *where], program, what)
            check(status == 214, f"a collective of another {what} ends the job", said)
            check(len(re.findall("different (?:collectives|arguments)", said)) == 1 and words in said, f"{what}: both calls are named", said)

        is_stopped(prun, where, last, program)
        status, said = to_limit(prun, ["--hang-report", "0.5", *where], program, "in the kernel")
        check(status == 207 and "      it is in the kernel, and cannot be stopped (state D)\n" in said,
              "no debugger is asked about a rank that cannot be stopped", said)
        dies(prun, where, last, program)
    steers(prun, program)
    leaves_it_dead = "import subprocess, sys, time; one = subprocess.Popen(sys.argv[1:]); time.sleep(600)"
    status, said = to_limit(prun, ["-np", "2"], sys.executable, "-c", leaves_it_dead, program, "killed")
    check(status == 207 and re.search(r"rank 1 on host \S+ has died, and what started it goes on", said),
          "a program that nobody has waited for is said to be dead", said)
    status, said = to_limit(prun, ["-np", "2"], program, "in a thread")
    check(status == 207 and "ranks 0-1: MPI_Recv" in said, "a thread's call is named, though another left one later", said)
    status, said = to_limit(prun, ["--hang-report", "0.5", "-np", "2"], program, "leaders")
    for remote, tag in ((1, 5), (0, 6)):
        check(status == 207 and f"MPI_Intercomm_create on MPI_COMM_WORLD, for rank {remote}, tag {tag}" in said,
              "leaders of two groups that say different tags are named, and the tags", said)
    status, said = to_limit(prun, ["--hang-report", "0.5", "-np", "2"], program, "groups")
    for remote in (1, 0):
        check(status == 207 and f"MPI_Intercomm_create_from_groups, for rank {remote}" in said,
              "and those of two groups without communicators, that say different texts", said)
    for wish in ("warn", "off"):  # by default it ends at once
        knobs = ["-x", f"TUTTI_MISMATCH={wish}", "-x", "TUTTI_SINGLE_COPY=on"]
        status, said = to_limit(prun, ["--hang-report", "0.5", "-np", "2", *knobs], program, "out of step")
        check(status == 207, f"{wish}: who gives a long block waits for a rank that is elsewhere", said)
        for rank, number in ((0, 8), (1, 9)):
            check(f"rank {rank} on host" in said and f"MPI_Bcast on MPI_COMM_WORLD, its collective number {number}" in said,
                  f"the call of rank {rank} and its number are named", said)
        check(wish == "off" or "rank 1 called MPI_Barrier (collective number 8" in said, "the calls that differ are named", said)
    no_mpi = "import sys, time; print('a program is there', file=sys.stderr, flush=True); time.sleep(600)"
    status, said = to_limit(prun, ["-np", "2"], sys.executable, "-c", no_mpi)
    waited = [int(s) for s in re.findall(r"ranks 0-1: not in MPI yet \(before MPI_Init\), for (\d+) s", said)]
    check(status == 207 and waited and waited[0] >= 1, "how long they have been there is said truly", said)
    check("no eu-stack" in said or said.count("stack of rank") == 2, "a program without MPI shows its stacks", said)
    status, said = to_limit(prun, ["-np", "2"], program, "lost")
    check(status == 207 and "ranks 0-1: not in MPI: computing" in said
          and ("no eu-stack" in said or said.count("stack of rank") == 2), "so does one whose ranks all compute", said)


def steers(prun, program):
    """Where a stack comes from another host, what it says is shown, not obeyed."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/eu-stack", "w") as file:
            file.write("#!/bin/sh\nprintf '#0  main\\033[31m\\n'\n")
        os.chmod(f"{folder}/eu-stack", 0o755)
        _, said = to_limit(prun, ["--hang-report", "0.5", "-np", "2"], program, "missing",
                      env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"))
        check("#0  main\\x1b[31m\n" in said and "\033" not in said, "a stack does not steer the terminal", said)


def is_stopped(prun, where, last, program):
    """Nothing that MPI knows tells it: the rank is in a call, or on its way to one."""
    in_a_script = ["sh", "-c", '"$0" "$@"; true', program]
    for how, command in (("stopped", [program]), ("stopped", in_a_script), ("debugged", [program])):
        status, said = to_limit(prun, where, *command, how)
        check(status == 207, f"{how}: the time limit ends the job", said)
        if "cannot trace here" in said:
            print("skipped: nobody may trace processes here")
            continue
        words = r"by a signal \(kill -CONT \d+ there lets it go on\)" if how == "stopped" else "by a debugger"
        check(re.search(rf"^    rank {last} on host \S+ is stopped {words}$", said, re.M), f"{how}: it is said", said)
        check(f"    waited for: rank {last}, which is stopped\n" in said, f"{how}: it is blamed", said)
        check("ptrace" not in said, f"{how}: no debugger is asked about what another one holds", said)


def dies(prun, where, last, program):
    """The one line names the rank that died and how, not those that lost it."""
    for what, (status, words) in {"killed": (137, "signal 9"), "crashed": (139, "signal 11"),
                                  "exited": (3, "status 3"),
                                  "echo": (137, "signal 9")}.items():
        if what == "echo" and where is ONE_HOST:
            continue  # one daemon tells in the order of events
        for _ in range(2):  # who is heard first is chance
            got, said = run(prun, ["--timeout", "60", *where], program, what)
            check(got == status, f"{what}: the status is of the rank that died: {got}", said)
            lines = [line for line in said.splitlines() if line.startswith("prun: ") and "they take turns" not in line]
            check(len(lines) == 1 and f"rank {last} " in lines[0] and words in lines[0],
                  f"{what}: one line names the rank and '{words}'", said)


main()
