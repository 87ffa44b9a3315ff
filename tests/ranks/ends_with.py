#!/usr/bin/env python3
"""ends_with.py [--echoed | --some] [--beside PATTERN] STATUS TEXT COMMAND ... -- it ends with STATUS and says TEXT once.

--echoed: TEXT is a rank's, which prun may repeat when it tells how the rank ended. --some: as often as it likes.
--beside: every line that has TEXT has PATTERN, too.
"""
import re
import subprocess
import sys


def main():
    words = sys.argv[1:]
    wanted = {"--echoed": (1, 2), "--some": range(1, 1000)}.get(words[0], (1,))
    words = words[words[0] in ("--echoed", "--some"):]
    pattern, words = (words[1], words[2:]) if words[0] == "--beside" else ("", words)
    status, text, command = int(words[0]), words[1], words[2:]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150)
    said = done.stdout + done.stderr
    print(said, end="")
    if done.returncode != status:
        sys.exit(f"status {done.returncode}, wanted {status}")
    if said.count(text) not in wanted:
        sys.exit(f"'{text}' said {said.count(text)} times, wanted once")
    for line in said.splitlines():
        if text in line and not re.search(pattern, line):
            sys.exit(f"not said beside '{text}': '{pattern}'")


if __name__ == "__main__":
    main()
