#!/usr/bin/env python3
"""Every variable that prun reads, set alone to a good and to silly values: a job runs or is refused
with one line, and nothing crashes: variables.py PRUN"""
import os
import re
import signal
import subprocess
import sys

LIMIT_S = 120
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Where the names come from: whatever the launcher, the wire-up or the table of knobs spells.
SOURCES = ["launcher", "lib/base/knobs.cc", "lib/wireup"]
NAME = re.compile(r'"([A-Z][A-Z0-9]*_[A-Z0-9_]+|COLUMNS|HOME|PATH|TMPDIR|TERM|USER|RANK)"')
NO_VARIABLES = {"MPI_COMM_WORLD", "TUTTI_TEST_", "TUTTI_UPDATE_", "TUTTI_BENCH_"}
GOOD = {"MPIEXEC_TIMEOUT": "100", "PATH": os.environ["PATH"], "TMPDIR": "/tmp", "TUTTI_LINK": "tcp",
        "PET_NNODES": "1", "PET_NPROC_PER_NODE": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "HYDRA_LAUNCHER": "ssh", "TUTTI_JOIN_KEY": "0123456789abcdef0123"}
SILLY = ["", "-1", "x y", "99999999999999999999999", "/nonexistent/file", "a:0,,=:", "\x80\xff", "A" * 5000]
# What prun ends with when it refuses: wrong words, or one of its own reasons (prun --help=exit).
REFUSALS = {2, *range(200, 214)}
# With these the program, not prun, is what fails to start or says something else.
OF_THE_PROGRAM = {"PATH", "LD_LIBRARY_PATH"}


def names():
    found = {"PET_NNODES", "PET_NPROC_PER_NODE", "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_btl"}
    for source in SOURCES:
        path = os.path.join(ROOT, source)
        files = [path] if os.path.isfile(path) else [
            os.path.join(folder, name) for folder, _, inside in os.walk(path) for name in inside if name.endswith((".cc", ".h"))]
        for file in files:
            with open(file, encoding="utf-8") as text:
                found |= set(NAME.findall(text.read()))
    return sorted(found - NO_VARIABLES)


def run(prun, name, value):
    environment = {**os.environb, os.fsencode(name): value.encode("latin-1")}
    # By its path: a PATH without programs is prun's to bear, not the test's.
    done = subprocess.run([prun, "-np", "1", "/bin/true"], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=LIMIT_S)
    return done.returncode, done.stdout + done.stderr


def judge(name, value, status, said):
    shown = f"{name}={value[:40]!r}"
    if status < 0 or status in range(128 + 1, 128 + signal.NSIG):
        return f"{shown}: ended by signal {-status if status < 0 else status - 128}\n{said.decode(errors='replace')}"
    if status == 0 or name in OF_THE_PROGRAM:
        return None
    if status not in REFUSALS:
        return f"{shown}: status {status}, which is no refusal\n{said.decode(errors='replace')}"
    lines = [line for line in said.splitlines() if line.strip()]
    if len(lines) != 1:
        return f"{shown}: refused in {len(lines)} lines\n{said.decode(errors='replace')}"
    return None


def main():
    prun = sys.argv[1]
    problems, runs, refused = [], 0, 0
    every = names()
    assert "MPIEXEC_TIMEOUT" in every and "TUTTI_LINK" in every, "the sources are not where they were"
    for name in every:
        for value in [GOOD.get(name, "1")] + SILLY:
            status, said = run(prun, name, value)
            runs, refused = runs + 1, refused + (status in REFUSALS)
            wrong = judge(name, value, status, said)
            if wrong:
                problems.append(wrong)
        if name in GOOD and run(prun, name, GOOD[name])[0] != 0:
            problems.append(f"{name}={GOOD[name]}: a good value is refused")
    print(f"{len(every)} variables, {runs} runs, {refused} refused")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
