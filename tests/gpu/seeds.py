#!/usr/bin/env python3
"""seeds.py PRUN PROGRAM ... -- the programs again and again, with kinds of memory drawn anew each time.

A seed for each program and number of ranks; ten minutes for all of them with TUTTI_TEST_LONG. The first seed is 1,
or follows from TUTTI_TEST_FUZZ_FIRST, which --long draws. What fails prints the line that repeats it.
"""
import itertools
import os
import subprocess
import sys
import time

LASTS_S = 600 if os.environ.get("TUTTI_TEST_LONG") else 0
FIRST = 1 + int(os.environ.get("TUTTI_TEST_FUZZ_FIRST", "0")) % 1_000_000_000  # std::atoi reads it


def main():
    prun, *programs = sys.argv[1:]
    ends = time.monotonic() + LASTS_S
    runs = 0
    for seed in itertools.count(FIRST):
        for program, ranks in itertools.product(programs, (2, 3, 4)):
            command = [prun, "--oversubscribe", "-np", str(ranks), program]
            done = subprocess.run(command, env={**os.environ, "GPU_TEST_SEED": str(seed)}, timeout=300)
            if done.returncode != 0:
                sys.exit(f"status {done.returncode}: GPU_TEST_SEED={seed} {' '.join(command)}")
            runs += 1
        if time.monotonic() >= ends:
            break
    print(f"{runs} runs, from seed {FIRST}")


main()
