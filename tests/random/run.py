#!/usr/bin/env python3
"""run.py PRUN PROGRAM LINK [OPTION VALUE]...   random programs, job after job

  --seconds N         how long; TUTTI_TEST_RANDOM_SECONDS, else 15, and ten minutes with TUTTI_TEST_LONG=1
  --seed N            of the first job, from which those of the others follow
  --features LIST     see world.cc; all
  --ranks LIST        numbers of ranks to choose from
  --begins HOW        init, session, or any
  --set LIST          variables of every job, NAME=VALUE,...; else drawn: ways and algorithms, limits, cores
  --stands-still N    seconds after which a job is taken to hang

Each job has its own number of ranks, its own way to begin (MPI_Init or a session; one thread or
several), its own variables and its own seed.
LINK: shm, tcp, ucx, or hosts (two virtual hosts). A job that fails is named with the line
that repeats it, the episode's own seed is in what the failing rank says. prun compares every
collective call (TUTTI_MISMATCH=every): of legal programs it has nothing to report.
"""
import os
import pathlib
import random
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP, NO_NAMESPACES = 77, 208  # launcher/status/status.h
PER_JOB_S = 4      # what a job ends with is tried as well: many short jobs, then
STANDS_STILL_S = "240"  # a hang, also on a loaded machine under a sanitizer


def options(words):
    values = {"--seconds": os.environ.get("TUTTI_TEST_RANDOM_SECONDS") or ("600" if os.environ.get("TUTTI_TEST_LONG") else "15"),
              "--seed": str(random.randrange(1 << 40)), "--features": "all", "--ranks": "1,2,2,3,3,4,4,5,7,9",
              "--begins": "any", "--set": "drawn", "--stands-still": STANDS_STILL_S}
    for name, value in zip(words[::2], words[1::2]):
        if name not in values:
            sys.exit(f"{name}: not known; see the head of {__file__}")
        values[name] = value
    return values


def names(features, one):
    """Whether a list of features (world.cc) has this one."""
    words = features.split(",")
    return f"-{one}" not in words and ("all" in words or one in words)


def algorithms():
    """By collective, those that serve any operation on any number of ranks; docs/algorithms.md is fresh."""
    found = {}
    for line in (ROOT / "docs/algorithms.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 8 and cells[2].startswith("`") and cells[3] == "yes" and cells[2] != "`shm`":
            found.setdefault(cells[1], []).append(cells[2].strip("`"))
    return found


def variables(chance):
    """What a job sets so that it goes other ways than the usual ones; nothing, half of the time each."""
    def some(one_in, *values):
        return chance.choice(values) if chance.randrange(one_in) == 0 else None

    forced = [f"{collective}={chance.choice(names)}" for collective, names in algorithms().items()
              if chance.randrange(2) == 0]
    drawn = {"TUTTI_SINGLE_COPY": some(1, "auto", "on", "on", "off"),
             "TUTTI_ALGORITHMS": some(4, ",".join(forced)),
             "TUTTI_SEGMENT_BYTES": some(6, "1k", "24k", "256k"),
             "TUTTI_EAGER_BYTES": some(6, "64", "2k", "32k"),
             "TUTTI_UNEXPECTED_BYTES": some(8, "64k", "1M"),
             "TUTTI_RANKS_PER_CACHE": some(4, "2", "3"),
             "TUTTI_TCP_RAILS": some(3, "1", "3"),
             "TUTTI_PROGRESS_US": some(6, "0", "20"),
             "TUTTI_POLL_US": some(6, "0", "50")}
    return [f"{name}={value}" for name, value in drawn.items() if value]


def job(prun, program, link, values, chance, seconds):
    """The command of one job. A third of them have a core for each rank, as far as prun is told."""
    ranks = chance.choice(values["--ranks"].split(","))
    is_drawn = values["--set"] == "drawn"
    has_cores = chance.randrange(3) == 0 and is_drawn and link != "hosts"
    command = ["env", "HWLOC_SYNTHETIC=core:16 pu:1"] if has_cores else []
    command += [prun, "--oversubscribe", "--timeout", values["--stands-still"], "-x", "TUTTI_MISMATCH=every",
                "-np", ranks]
    if has_cores:
        command += ["--bind-to", "none"]
    for variable in variables(chance) if is_drawn else filter(None, values["--set"].split(",")):
        command += ["-x", variable]
    if link == "hosts":
        command += ["--virtual", "-H", "a:4,b:4", "--map-by", "node"]
    elif link != "shm":
        command += ["-x", f"TUTTI_LINK={link}"]
    command += [program, "--seed", str(chance.randrange(1 << 40)), "--seconds", str(seconds),
                "--features", values["--features"]]
    begins = values["--begins"]
    if begins == "session" or (begins == "any" and chance.randrange(3) == 0):
        command.append("--sessions")
    if chance.randrange(2) == 0 and names(values["--features"], "threads"):
        command.append("--threads")
    return command


def main():
    prun, program, link, *words = sys.argv[1:]
    values = options(words)
    seconds = float(values["--seconds"])
    print(f"random programs over {link} for {seconds:.0f} s; --seed {values['--seed']}", flush=True)
    chance = random.Random(int(values["--seed"]))
    deadline = time.monotonic() + seconds
    jobs = episodes = 0
    while (left := deadline - time.monotonic()) > 0:
        command = job(prun, program, link, values, chance, max(1, min(PER_JOB_S, left)))
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL)
        if done.returncode == NO_NAMESPACES and link == "hosts":
            print(done.stderr)
            sys.exit(SKIP)
        if done.returncode != 0 or " episodes" not in done.stdout:
            print(done.stdout[-3000:], done.stderr[-6000:])
            print(f"status {done.returncode} after {jobs} jobs and {episodes} episodes, of\n  {shlex.join(command)}")
            sys.exit(1)
        jobs += 1
        episodes += int(done.stdout.split(" episodes")[0].split()[-1])
    print(f"{jobs} jobs, {episodes} episodes")


if __name__ == "__main__":
    main()
