#!/usr/bin/env python3
"""in_containers.py PRUN PROGRAM -- every rank of PROGRAM is process 1 of a namespace of its own, and
all have the same addresses; skipped where that is forbidden."""
import subprocess
import sys

SKIP = 77
ALIKE = ["setarch", "-R", "unshare", "-Urpf", "--mount-proc"]


def main():
    prun, program = sys.argv[1:]
    try:
        tried = subprocess.run([*ALIKE, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        sys.exit(SKIP)
    if tried.returncode != 0:
        sys.exit(SKIP)
    for single_copy in ("auto", "on"):
        done = subprocess.run([prun, "--oversubscribe", "-np", "4", "-x",
                               f"TUTTI_SINGLE_COPY={single_copy}", *ALIKE, program])
        if done.returncode != 0:
            sys.exit(f"TUTTI_SINGLE_COPY={single_copy}: status {done.returncode}")


main()
