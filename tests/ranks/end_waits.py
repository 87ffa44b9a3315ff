#!/usr/bin/env python3
"""end_waits.py PRUN LATE_TAKER -- an end that waits for a receive says for whose, and goes on when it is there."""
import os
import subprocess
import sys
import tempfile


def main():
    prun, program = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        fifo = f"{folder}/fifo"
        os.mkfifo(fifo)
        with subprocess.Popen([prun, "--oversubscribe", "-np", "2", program, fifo], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as job:
            said = ""
            while "the end waits for rank 1" not in said:
                line = job.stdout.readline()
                if not line:
                    sys.exit(f"it ended ({job.wait()}) and said only: {said}")
                said += line
            with open(fifo, "w"):
                said += job.stdout.read()
        print(said, end="")
        sys.exit(1 if job.returncode else 0)


main()
