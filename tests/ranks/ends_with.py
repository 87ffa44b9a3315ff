#!/usr/bin/env python3
"""ends_with.py [OPTION ...] STATUS TEXT COMMAND ... -- it ends with STATUS and says TEXT once.

--echoed: TEXT is a rank's, which prun may repeat when it tells how the rank ended. --some: as often as it likes.
--beside PATTERN: every line that has TEXT has PATTERN, too. --also PATTERN: some line has PATTERN.
--long: with TUTTI_TEST_LONG only, since it takes a minute.
"""
import os
import re
import subprocess
import sys


def main():
    words = sys.argv[1:]
    wanted, beside, also = (1,), "", ""
    while words[0].startswith("--"):
        option = words.pop(0)
        if option == "--beside":
            beside = words.pop(0)
        elif option == "--also":
            also = words.pop(0)
        elif option != "--long":
            wanted = {"--echoed": (1, 2), "--some": range(1, 1000)}[option]
        elif not os.environ.get("TUTTI_TEST_LONG"):
            print("skipped: it takes a minute; --long runs it")
            sys.exit(77)
    status, text, command = int(words[0]), words[1], words[2:]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150)
    said = done.stdout + done.stderr
    print(said, end="")
    if done.returncode != status:
        sys.exit(f"status {done.returncode}, wanted {status}")
    if said.count(text) not in wanted:
        sys.exit(f"'{text}' said {said.count(text)} times, wanted once")
    for line in said.splitlines():
        if text in line and not re.search(beside, line):
            sys.exit(f"not said beside '{text}': '{beside}'")
    if also and not any(re.search(also, line) for line in said.splitlines()):
        sys.exit(f"not said: '{also}'")


if __name__ == "__main__":
    main()
