#!/usr/bin/env python3
"""few_files_test.py PRUN EVERYBODY -- ranks that may open few files all connect to each other at once: those who are
asked to come again are called no strangers, and where the files do not suffice a rank says that it is its own limit.
So it does where not even one connection is to be had, or where the program has closed the library's descriptors."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import LIMIT_S  # noqa: E402

PRUN, EVERYBODY = sys.argv[1:]
RANKS = 20


def start(files, ranks=RANKS, closes=""):
    return subprocess.Popen([PRUN, "-np", str(ranks), "--oversubscribe", "-x", "TUTTI_LINK=tcp", "sh", "-c",
                             f'ulimit -n {files}; exec "$0" {closes}', EVERYBODY], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")


crowd = start(64)  # room for eight visitors
said = crowd.communicate(timeout=LIMIT_S)[0]
assert crowd.returncode == 0 and "all right" in said and "stranger" not in said, f"{crowd.returncode}\n{said}"
print("a crowd of ranks: ok", flush=True)

for files in (4, 6, 8):
    none = start(files, ranks=2)
    said = none.communicate(timeout=LIMIT_S)[0]
    assert none.returncode == 19 and "out of file descriptors" in said, f"{none.returncode}\n{said}"
print("no file for a connection: ok", flush=True)

for end in ("900", "900 opens", "1024"):  # with its connection to its daemon, too
    closed = start(1024, ranks=2, closes=end)
    try:
        said = closed.communicate(timeout=LIMIT_S)[0]
    finally:
        closed.terminate()
    assert closed.returncode == 212 and "rank 1 on host" in said and "has closed descriptors" in said, said
print("closed descriptors: ok", flush=True)

short = start(16)
try:
    said = ""
    while not ("cannot be connected to yet" in said and "connections that come must wait" in said):
        line = short.stdout.readline()
        assert line, f"it ended:\n{said}"
        said += line
    assert "Too many open files" in said and "(ulimit -n, now 16)" in said and "stranger" not in said, said
    if os.environ.get("TUTTI_TEST_LONG"):  # it takes half a minute
        said += short.communicate(timeout=LIMIT_S)[0]
        assert short.returncode == 212 and "than it may open files, for 30 s: raise the limit" in said, said
finally:
    short.terminate()
    short.communicate(timeout=LIMIT_S)
print("too few files: ok", flush=True)
