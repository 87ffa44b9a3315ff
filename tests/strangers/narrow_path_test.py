#!/usr/bin/env python3
"""narrow_path_test.py PRUN NARROW -- a path between hosts that lets small packets through only ends the
job and names the link and the MTU; a rank that merely does not read for long ends nothing."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import LIMIT_S  # noqa: E402

PRUN, NARROW = sys.argv[1:]
FORBIDDEN, SKIP = 208, 77


def start(what):
    return subprocess.Popen([PRUN, "--virtual", "-H", "a:1,b:1", "-np", "2", NARROW, what], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


deaf, flood = start("deaf"), start("flood")
said = deaf.communicate(timeout=5 * LIMIT_S)[0]
print(said, flush=True)
if deaf.returncode == FORBIDDEN:
    flood.kill()
    flood.wait()
    sys.exit(SKIP)
assert deaf.returncode not in (0, 6) and "all right" not in said, deaf.returncode
assert "rank 1 on host b" in said and "tcp" in said and "large packets do not arrive; MTU?" in said
said = flood.communicate(timeout=5 * LIMIT_S)[0]
assert flood.returncode == 0 and "all right" in said, f"{flood.returncode}\n{said}"
print("ok")
