#!/usr/bin/env python3
"""Of a block that is too long for its receiver, over two hosts, the job's line names both ranks. too_much.py PRUN PROGRAM"""
import subprocess
import sys

FORBIDDEN, MISMATCH = 208, 214  # launcher/status/status.h
SKIP = 77


def main():
    prun, program = sys.argv[1:]
    for how in ("gatherv", "scatterv", "alltoallv"):
        done = subprocess.run([prun, "--virtual", "--oversubscribe", "-H", "a:2,b:2", program, how], capture_output=True, text=True)
        if done.returncode == FORBIDDEN:
            sys.exit(SKIP)
        said = "rank 1 gives 400 bytes to rank 2, which has room for 396"
        if done.returncode != MISMATCH or done.stderr.count(said) != 1:
            sys.exit(f"{how}: status {done.returncode}, not once '{said}':\n{done.stderr}")


main()
