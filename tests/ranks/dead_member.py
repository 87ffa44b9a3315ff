#!/usr/bin/env python3
"""dead_member.py PRUN PROGRAM -- a rank dies in the middle of a team; its teams' areas serve new ones."""
import re
import subprocess
import sys

BEFORE, AFTER = 63, 150  # teams, as in dead_member.cc


def main():
    prun, program = sys.argv[1:]
    command = [prun, "--oversubscribe", "--enable-recovery", "-x", "TUTTI_EXPLAIN=1", "-np", "3", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    said = done.stdout + done.stderr
    # At the beginning of lines: prun repeats some, set in, when it tells how a rank ended.
    line = r"^tutti: rank 0: allreduce on communicator \d+ \({}\), [^:]*: shm"
    by_team = {name: len(re.findall(line.format(name), said, re.MULTILINE)) for name in ("before", "after")}
    if done.returncode != 137 or "the others went on" not in said or by_team != {"before": BEFORE, "after": AFTER}:
        print(said)
        sys.exit(f"status {done.returncode}, teams {by_team}; wanted 137, {BEFORE} before and {AFTER} after")


if __name__ == "__main__":
    main()
