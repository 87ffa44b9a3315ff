#!/usr/bin/env python3
"""seeds.py PRUN PROGRAM ... -- the programs again and again, with kinds of memory drawn anew each time.

A seed for each program and number of ranks; ten minutes for all of them with TUTTI_TEST_LONG. What fails prints
the line that repeats it.
"""
import itertools
import os
import subprocess
import sys
import time

LASTS_S = 600 if os.environ.get("TUTTI_TEST_LONG") else 0


def main():
    prun, *programs = sys.argv[1:]
    ends = time.monotonic() + LASTS_S
    runs = 0
    for seed in itertools.count(1):
        for program, ranks in itertools.product(programs, (2, 3, 4)):
            command = [prun, "--oversubscribe", "-np", str(ranks), program]
            done = subprocess.run(command, env={**os.environ, "GPU_TEST_SEED": str(seed)}, timeout=300)
            if done.returncode != 0:
                sys.exit(f"status {done.returncode}: GPU_TEST_SEED={seed} {' '.join(command)}")
            runs += 1
        if time.monotonic() >= ends:
            break
    print(f"{runs} runs")


main()
