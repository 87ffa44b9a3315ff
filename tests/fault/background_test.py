#!/usr/bin/env python3
"""A program that puts itself into the background is no rank any more: prun says so before it kills what is left, and says
nothing of programs that stay. background_test.py PRUN PROGRAM"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import LIMIT_S, processes_with, wait_until  # noqa: E402

PRUN, PROGRAM = map(os.path.abspath, sys.argv[1:])


def run(*words):
    mark = f"background-{os.getpid()}"
    job = subprocess.run([PRUN, "-np", "2", "--oversubscribe", *words], env=dict(os.environ, TUTTI_TEST_MARK=mark),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    wait_until(lambda: not processes_with(mark), "the end of all its processes")
    return job.returncode, job.stdout


status, said = run(PROGRAM)
told = f"of {os.path.realpath(PROGRAM)} outlived its rank"
assert status == 0 and told in said and said.count("outlived") == 1, f"{status}\n{said}"
status, said = run(PROGRAM, "stays")
assert (status, said) == (0, ""), f"{status}\n{said}"
status, said = run("sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 0")
assert (status, said) == (0, ""), f"{status}\n{said}"
print("good")
