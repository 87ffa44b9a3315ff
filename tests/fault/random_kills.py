#!/usr/bin/env python3
"""Kills drawn at random: any process of a job, at any moment; survivors and leftovers looked for.

    random_kills.py PRUN ENDLESS [--kills 300] [--seed N]

Prints the seed first: the same seed draws the same jobs, moments and actors. Of each job are
wanted: no process, socket or segment left, a status that says what was lost, and its reason.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import Job, Sshd, leads_a_group, leftovers, new_leftovers, no_ssh_server, parent_of, processes_with

# Ranks that ignore signals, with children in sessions of their own.
STUBBORN = ["sh", "-c", "trap '' TERM INT HUP; setsid sleep 1000 & (setsid sleep 1001 &); "
            "while :; do sleep 1002; done"]
PEER_LOST = 58  # MPI_ERR_PROC_ABORTED: what held the network of virtual hosts was killed
LAUNCHER_FAILED = range(200, 214)
LONGEST_S = 0.5  # a moment after the start of prun: starting, running, or in between


def actors_of(job, prun, endless):
    """Kind -> pids of the job's processes. A rank that is about to be executed, and what holds a
    virtual network, look like the daemon they were forked from; all count as daemons."""
    found = {"prun": [job.prun.pid], "daemon": [], "ssh": [], "server": [], "rank": []}
    commands = processes_with(job.mark)
    for pid, command in commands.items():
        first = command.split(" ")[0]
        if pid == job.prun.pid:
            continue
        if first == prun or os.path.basename(first) == "prund" or "prund --serve" in command:
            found["daemon"].append(pid)
        elif os.path.basename(first) in ("ssh", "prun-pmix"):
            found["ssh" if first.endswith("ssh") else "server"].append(pid)
        elif command.startswith(("sh -c", endless)):
            above = commands.get(parent_of(pid), "").split(" ")[0]
            # Ranks do; what a rank's shell forked and left to the daemon, and is no other program yet, does not.
            if (above == prun or os.path.basename(above) == "prund") and leads_a_group(pid):
                found["rank"].append(pid)
    return {kind: sorted(pids) for kind, pids in found.items() if pids}


def problem_of(kind, status, said):
    """What is wrong with this end, or nothing."""
    reason = any(line.startswith("prun: ") for line in said.splitlines())
    if kind == "prun":
        return "" if status == -signal.SIGKILL else f"status {status}, not -9"
    by_signal = status == 128 + signal.SIGKILL and "was killed by signal 9" in said
    if kind == "rank":
        return "" if by_signal else f"status {status}, not 137 with its reason"
    link_lost = status == PEER_LOST and "lost its tcp connection" in said
    if (status in LAUNCHER_FAILED and status != 200 and reason) or by_signal or link_lost:
        return ""
    return f"status {status}, not of 201 to 213 with a reason"


def kill(pid):
    """False: it has ended by itself."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class Kills:
    def __init__(self, prun, endless, seed):
        self.prun, self.endless = prun, endless
        self.draw = random.Random(seed)
        self.failed, self.took, self.count = [], [], {}

    def one(self, name, way):
        program = self.draw.choice([STUBBORN, [self.endless]])
        kind_first = self.draw.random()
        moment = self.draw.uniform(0, LONGEST_S)
        before = leftovers()
        job = Job(self.prun, way, program, options=["--oversubscribe"])
        time.sleep(moment)
        actors = actors_of(job, self.prun, self.endless)
        kind = sorted(actors)[int(kind_first * len(actors))]
        victim = self.draw.choice(actors[kind])
        if not kill(victim) or kind == "server":
            # A part of the start that has ended by itself, or a server that nobody needs here.
            kind = "prun"
            kill(job.prun.pid)
        killed = time.monotonic()
        what = f"{name}: {kind} killed after {moment:.3f} s under {os.path.basename(program[0])}"
        problem = self.end_of(job, kind, before)
        took = time.monotonic() - killed
        self.took.append((took, what))
        self.count[name, kind] = self.count.get((name, kind), 0) + 1
        if problem:
            self.failed.append(f"{what}: {problem}\n{job.said()}")
            print(f"FAILED {self.failed[-1]}", flush=True)

    def end_of(self, job, kind, before):
        try:
            status = job.wait()
            job.survivors_gone()
        except (AssertionError, subprocess.TimeoutExpired) as problem:
            for pid in processes_with(job.mark):
                kill(pid)
            return str(problem)
        extra = new_leftovers(before)
        return f"left behind {extra}" if extra else problem_of(kind, status, job.said())


def ways(prun):
    """name -> options, of each way of starting that this machine permits; and the ssh server."""
    found, server = {"this machine": []}, None
    hosts = ["-H", "a:2,b:2"]
    if subprocess.run([prun, "--virtual", *hosts, "-np", "2", "true"], capture_output=True).returncode == 0:
        found["virtual hosts"] = ["--virtual", *hosts]
    else:
        print("skipped virtual hosts: this kernel does not permit them")
    if reason := no_ssh_server():
        print(f"skipped ssh hosts: {reason}")
    else:
        server = Sshd(["a", "b"])
        found["ssh hosts"] = ["--launch-agent", server.agent, *hosts]
    return found, server


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prun", type=os.path.abspath)
    parser.add_argument("endless", type=os.path.abspath)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    kills = Kills(given.prun, given.endless, given.seed)
    found, server = ways(given.prun)
    try:
        for _ in range(given.kills):
            kills.one(*kills.draw.choice(sorted(found.items())))
    finally:
        if server:
            server.close()
    for (name, kind), count in sorted(kills.count.items()):
        print(f"{name:15} {kind:7} {count}")
    kills.took.sort(reverse=True)
    print("the slowest ends:")
    for took, what in kills.took[:10]:
        print(f"  {took:.2f} s  {what}")
    print(f"half were over after {kills.took[len(kills.took) // 2][0]:.2f} s")
    print(f"{given.kills} kills: {len(kills.failed)} failures; nothing was left after {kills.took[0][0]:.2f} s at most")
    return 1 if kills.failed else 0


if __name__ == "__main__":
    sys.exit(main())
