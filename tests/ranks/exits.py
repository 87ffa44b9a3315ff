#!/usr/bin/env python3
"""exits.py PRUN PROGRAM -- ranks that call exit() beside threads in MPI end with that status, and none of them crashes."""
import subprocess
import sys

STATUS, ROUNDS = 3, 8


def main():
    prun, program = sys.argv[1:]
    for link in ("shm", "tcp"):
        for words in ([], ["finalized"]):
            for _ in range(ROUNDS):
                done = subprocess.run([prun, "--oversubscribe", "-x", "TUTTI_LINK=" + link, "-np", "4", program, *words],
                                      capture_output=True, text=True, timeout=100)
                said = done.stdout + done.stderr
                if done.returncode != STATUS or "dies by" in said:
                    sys.exit(f"by {link} {words}: status {done.returncode}\n{said}")


if __name__ == "__main__":
    main()
