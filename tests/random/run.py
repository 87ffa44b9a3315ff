#!/usr/bin/env python3
"""run.py PRUN PROGRAM LINK [--seconds N] [--seed N] [--features LIST]   random programs, job after job

Each job has its own number of ranks, its own way to begin (MPI_Init or a session) and its own seed;
together they take N seconds (15; with TUTTI_TEST_LONG=1, which ./test.sh --long sets, a quarter of
an hour). LINK: shm, tcp, ucx, or hosts (two virtual hosts). A job that fails is named with the line
that repeats it, the episode's own seed is in what the failing rank says. prun compares every
collective call (TUTTI_MISMATCH=every): of legal programs it has nothing to report.
"""
import os
import random
import subprocess
import sys
import time

SKIP, NO_NAMESPACES = 77, 208  # launcher/job/exit_status.h
PER_JOB_S = 4      # what a job ends with is tried as well: many short jobs, then
STANDS_STILL_S = 240  # a hang, also on a loaded machine under a sanitizer


def options(words):
    values = {"--seconds": "900" if os.environ.get("TUTTI_TEST_LONG") else "15",
              "--seed": str(random.randrange(1 << 40)), "--features": "all"}
    for name, value in zip(words[::2], words[1::2]):
        if name not in values:
            sys.exit(f"{name}: not known; see the head of {__file__}")
        values[name] = value
    return float(values["--seconds"]), int(values["--seed"]), values["--features"]


def job(prun, program, link, features, chance, seconds):
    """The command of one job, and what of its environment differs."""
    ranks = chance.choice((1, 2, 2, 3, 3, 4, 4, 5, 7))
    command = [prun, "--oversubscribe", "--timeout", str(STANDS_STILL_S), "-x", "TUTTI_MISMATCH=every",
               "-np", str(ranks)]
    if link == "hosts":
        command += ["--virtual", "-H", "a:4,b:4", "--map-by", "node"]
    elif link != "shm":
        command += ["-x", f"TUTTI_LINK={link}"]
    command += [program, "--seed", str(chance.randrange(1 << 40)), "--seconds", str(seconds),
                "--features", features]
    if chance.randrange(3) == 0:
        command.append("--sessions")
    return command


def main():
    prun, program, link, *words = sys.argv[1:]
    seconds, seed, features = options(words)
    print(f"random programs over {link} for {seconds:.0f} s; --seed {seed}", flush=True)
    chance = random.Random(seed)
    deadline = time.monotonic() + seconds
    jobs = episodes = 0
    while (left := deadline - time.monotonic()) > 0:
        command = job(prun, program, link, features, chance, max(1, min(PER_JOB_S, left)))
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL)
        if done.returncode == NO_NAMESPACES and link == "hosts":
            print(done.stderr)
            sys.exit(SKIP)
        if done.returncode != 0 or " episodes" not in done.stdout:
            print(done.stdout[-3000:], done.stderr[-6000:])
            print(f"status {done.returncode} of\n  {' '.join(command)}")
            sys.exit(1)
        jobs += 1
        episodes += int(done.stdout.split(" episodes")[0].split()[-1])
    print(f"{jobs} jobs, {episodes} episodes")


if __name__ == "__main__":
    main()
