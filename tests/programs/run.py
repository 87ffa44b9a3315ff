#!/usr/bin/env python3
"""run.py BUILD PRUN hpcc|boost|dune|fftw|mpich|demos|scotch -- programs that nobody here wrote, built with our mpicc.

Sources come as they are, once per build folder. Skipped with one line where they cannot be
fetched; with TUTTI_TEST_QUICK only what a minute is enough for.
"""
import fcntl
import importlib
import os
import pathlib
import sys

import fetch


def main():
    build, prun, what = sys.argv[1:]
    program = importlib.import_module(what)
    if os.environ.get("TUTTI_TEST_QUICK") and not program.IN_QUICK:
        print(f"skipped: {what} takes minutes, and TUTTI_TEST_QUICK is set")
        sys.exit(fetch.SKIP)
    place = fetch.Place(pathlib.Path(build).resolve(), prun, what)
    number = failed = 0
    with open(place.folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            for name, problem in program.test(place):
                number, failed = number + 1, failed + bool(problem)
                print(f"{'FAILED' if problem else 'ok'} {name}", *([problem] if problem else []),
                      sep="\n    ", flush=True)
        except fetch.Skipped as problem:
            print("skipped:", problem)
            sys.exit(fetch.SKIP)
    print(f"{number} runs, {failed} failed")
    sys.exit(1 if failed or not number else 0)


main()
