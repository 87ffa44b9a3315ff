#!/usr/bin/env python3
"""on_virtual.py PRUN ARGUMENT ... -- runs prun --virtual; skipped where namespaces are forbidden."""
import subprocess
import sys

FORBIDDEN = 208  # launcher/status/status.h
SKIP = 77


def main():
    prun, *arguments = sys.argv[1:]
    done = subprocess.run([prun, "--virtual", "--oversubscribe", *arguments])
    sys.exit(SKIP if done.returncode == FORBIDDEN else done.returncode)


main()
