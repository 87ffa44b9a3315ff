#!/usr/bin/env python3
"""one_table.py PRUN PROGRAM -- two virtual hosts that are tuned differently go by prun's costs alone."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FORBIDDEN = 208  # launcher/status/status.h
PRUN, PROGRAM = sys.argv[1:]
# What a host's own settings say; each host something else.
HOSTS_OWN = 'TUTTI_COSTS="tcp=$((1 + 1000 * GROUP_RANK)):1" exec "$0"'


def predictions(*words, **env):
    """What the first rank of each communicator took the candidates to cost."""
    done = subprocess.run([PRUN, "--virtual", "--oversubscribe", "-H", "a:2,b:2", *words, "sh", "-c", HOSTS_OWN, PROGRAM],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "TUTTI_EXPLAIN": "1", **env})
    if done.returncode == FORBIDDEN:
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"{words} {env}: {done}")
    found = re.findall(r"allreduce on communicator .*?, 8 B: (.*)", done.stdout + done.stderr)
    if len(found) != 2:
        sys.exit(f"{words} {env}: not two explanations: {done}")
    if found[0] != found[1]:
        sys.exit(f"{words} {env}: two hosts reckon differently:\n{found[0]}\n{found[1]}")
    return found[0]


built_in = predictions()
by_variable = predictions(TUTTI_COSTS="tcp=500:1")
with tempfile.TemporaryDirectory() as folder:
    tune = pathlib.Path(folder, "tune")
    tune.write_text("tutti_costs = tcp=500:1\n")
    by_file = predictions("--tune", str(tune))
if by_variable == built_in:
    sys.exit(f"prun's costs changed nothing: {built_in}")
if by_file != by_variable:
    sys.exit(f"--tune says the same as the variable, and ranks reckon differently:\n{by_file}\n{by_variable}")
