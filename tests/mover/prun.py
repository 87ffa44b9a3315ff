#!/usr/bin/env python3
"""prun.py ARGUMENT ... -- prun, whose ranks have their buffers moved to GPU memory (mover.h).

For the runners of other suites, which take it for prun. MOVER_PRUN and MOVER_LIBRARY say where those are,
MOVER_HOSTS more words for prun (where the runner names no hosts itself); what else begins with MOVER_ or STANDIN_
goes on to the ranks.
"""
import os
import sys

prun = os.environ["MOVER_PRUN"]
passed = [word for name in os.environ if name.startswith(("MOVER_", "STANDIN_")) for word in ("-x", name)]
hosts = os.environ.get("MOVER_HOSTS", "").split()
os.execv(prun, [prun, *hosts, "-x", "LD_PRELOAD=" + os.environ["MOVER_LIBRARY"], *passed, *sys.argv[1:]])
