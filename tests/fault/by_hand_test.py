#!/usr/bin/env python3
"""Ranks with torchrun's variables and no launcher above them: nobody but the others can notice that one has
ended. by_hand_test.py PROGRAM"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import Started, by_hand, free_port  # noqa: E402


def run(program, size, how):
    """The ranks' statuses, and what the others than the last said."""
    port = free_port()
    ranks = [Started([program, how], by_hand(rank, size, port)) for rank in range(size)]
    try:
        return [rank.wait() for rank in ranks], "".join(rank.said() for rank in ranks[:-1])
    finally:
        for rank in ranks:
            rank.process.kill()


def main():
    program = os.path.abspath(sys.argv[1])
    failures = 0
    for how, status in (("kill", -9), ("exit", 0), ("abort", 9)):
        for size in (2, 4):
            statuses, said = run(program, size, how)
            good = (statuses[-1] == status and 0 not in statuses[:-1] and
                    all(code > 0 for code in statuses[:-1]) and
                    f"rank {size - 1} on host" in said and "ended without MPI_Finalize" in said)
            print(f"{'ok' if good else 'FAILED'} {how} of the last of {size} ranks: {statuses}")
            if not good:
                print(said)
                failures += 1
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)


main()
