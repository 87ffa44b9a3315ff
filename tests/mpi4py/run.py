#!/usr/bin/env python3
"""run.py BUILD PRUN ARGUMENT ... -- mpi4py's own test suite under prun with these arguments.

All of it but what without.txt names, each with its reason. Skipped with one line where mpi4py
cannot be fetched or namespaces are forbidden. Exit status 1 when a test fails on any rank.
"""
import os
import pathlib
import re
import subprocess
import sys

import prepare

FORBIDDEN = 208  # launcher/status/status.h
SKIP = 77
FEWEST = 1500  # (a tenth with TUTTI_TEST_QUICK) tests that every rank must have run: fewer means that they were not found
# With TUTTI_TEST_QUICK: messages, collective calls, what communicators are made of.
QUICK = bool(os.environ.get("TUTTI_TEST_QUICK"))
QUICK_MODULES = "test_(p2p_buf|cco_vec|comm|group|datatype|request|session)"
FEW_MODULES = os.environ.get("TUTTI_TEST_MODULES")  # as QUICK_MODULES, of a caller that wants just these
WITHOUT = os.environ.get("TUTTI_TEST_WITHOUT", "").split()  # names of tests that a caller leaves out
# Entries of without.txt. This number may only get smaller.
MOST = 14


def left_out():
    """Options of the suite, from the lines 'module NAME: reason' and 'NAME: reason'."""
    lines = (pathlib.Path(__file__).parent / "without.txt").read_text().splitlines()
    entries = [line.split(":", 1) for line in lines if line and not line.startswith("#")]
    bad = [entry[0] for entry in entries if len(entry) != 2 or not entry[1].strip()]
    if bad:
        sys.exit("without.txt: no reason for " + ", ".join(bad))
    if len(entries) > MOST:
        sys.exit(f"without.txt: {len(entries)} entries, at most {MOST}; it may only shrink")
    for name, _ in entries:
        module = name.removeprefix("module ")
        yield from ("-x", name) if module == name else ("-e", module + r"\.py")


def main():
    build, prun, *arguments = sys.argv[1:]
    if QUICK and arguments[0] == "-np" and not FEW_MODULES:
        print("skipped: with TUTTI_TEST_QUICK two hosts are enough; the rest takes minutes")
        sys.exit(SKIP)
    if QUICK:  # a rank a core: a third of the time
        arguments = [word.replace("a:2,b:1", "a:1,b:1") for word in arguments]
    prun = str(pathlib.Path(prun).resolve())
    try:
        python, source = prepare.prepare(pathlib.Path(build).resolve())
    except prepare.Unreachable as problem:
        print("skipped:", problem)
        sys.exit(SKIP)
    command = [prun, "--oversubscribe", *arguments, str(python), "-u", "test/main.py", *left_out(),
               *(word for name in WITHOUT for word in ("-x", name)),
               *(["-i", (FEW_MODULES or QUICK_MODULES) + r"\.py"] if QUICK or FEW_MODULES else [])]
    text = []
    with subprocess.Popen(command, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace",
                          env=dict(os.environ, MPI4PY_TEST_SPAWN="no")) as job:
        for line in job.stdout:
            text.append(line)
            print(line, end="", flush=True)
    if job.returncode == FORBIDDEN:
        print("skipped: namespaces are forbidden here")
        sys.exit(SKIP)
    ran = [int(number) for number in re.findall(r"Ran (\d+) tests", "".join(text))]
    fewest = 1 if FEW_MODULES else FEWEST // 10 if QUICK else FEWEST
    if job.returncode == 0 and (not ran or min(ran) < fewest):
        sys.exit(f"{ran} tests ran; at least {fewest} a rank are expected")
    sys.exit(1 if job.returncode else 0)


main()
