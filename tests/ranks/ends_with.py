#!/usr/bin/env python3
"""ends_with.py STATUS TEXT COMMAND ... -- the command ends with STATUS and says TEXT once."""
import subprocess
import sys


def main():
    status, text, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    said = done.stdout + done.stderr
    print(said, end="")
    if done.returncode != status:
        sys.exit(f"status {done.returncode}, wanted {status}")
    if said.count(text) != 1:
        sys.exit(f"'{text}' said {said.count(text)} times, wanted once")


if __name__ == "__main__":
    main()
