#!/usr/bin/env python3
"""ends_with.py [--echoed] STATUS TEXT COMMAND ... -- it ends with STATUS and says TEXT once.

--echoed: TEXT is a rank's, which prun may repeat when it tells how the rank ended.
"""
import subprocess
import sys


def main():
    words = sys.argv[1:]
    echoed = words[0] == "--echoed"
    status, text, command = int(words[echoed]), words[1 + echoed], words[2 + echoed:]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    said = done.stdout + done.stderr
    print(said, end="")
    if done.returncode != status:
        sys.exit(f"status {done.returncode}, wanted {status}")
    if said.count(text) not in ((1, 2) if echoed else (1,)):
        sys.exit(f"'{text}' said {said.count(text)} times, wanted once")


if __name__ == "__main__":
    main()
