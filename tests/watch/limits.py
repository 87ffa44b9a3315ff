#!/usr/bin/env python3
"""Few descriptors may be open: jobs run from 64 on, below that one line says which limit it is. Few addresses: a
job's memory is part of them. A small stack. limits.py PRUN COUNTED [sanitized]"""
import os
import resource
import subprocess
import sys
import tempfile

from checks import check


def run(command, soft, hard, what=resource.RLIMIT_NOFILE):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, preexec_fn=lambda: resource.setrlimit(what, (soft, hard)))
    return done.returncode, done.stdout


def main():
    prun, counted = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    job = [prun, "--oversubscribe", "-np", "2"]
    for hard in (64, 65, 100, 512, 950, 960, 961, 962, 963, 964, 1024):
        status, said = run([*job, counted], hard, hard)
        check(status == 0, f"a hard limit of {hard}: status {status}", said)
    for soft in (24, 30, 64, 950, 961):
        status, said = run([*job, "sh", "-c", 'ulimit -n; exec "$0"', counted], soft, most)
        check(status == 0 and said.split() == [str(soft)] * 2, f"a soft limit of {soft} reaches the ranks: status {status}", said)
    status, said = run([*job, counted], 6, most)
    check(status == 0, f"a soft limit of 6 is raised to what prun needs: status {status}", said)
    for hard in (63, 40, 25, 20, 10, 8, 4):
        status, said = run([*job, counted], hard, hard)
        check(status != 0 and said.count("\n") == 1 and f"(ulimit -Hn) is {hard}" in said and "at least 64" in said,
              f"a hard limit of {hard} is named", said)
    status, said = run([prun, "--check"], 50, 50)
    check(status != 0 and "open files" in said and "at least 64" in said, "--check names a limit that is too low", said)
    # Less than a megabyte of stack (ulimit -s): threads of ours do not go by it.
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/reach", "w") as file:
            file.write('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        os.chmod(f"{folder}/reach", 0o755)
        os.environ["XDG_CACHE_HOME"] = folder
        ways = {"here": [], "by an agent": ["--launch-agent", f"{folder}/reach", "-H", "localhost,far"]}
        if subprocess.run([prun, "--virtual", "-H", "a", "-np", "1", "true"], capture_output=True).returncode != 208:
            ways["virtual"] = ["--virtual", "-H", "a,b"]
        for name, where in ways.items():
            for kib in (64, 100, 256):
                status, said = run([*job, *where, counted], kib << 10, kib << 10, resource.RLIMIT_STACK)
                check(status == 0, f"{name}: {kib} KiB of stack will do: status {status}", said)
    for mib in () if "sanitized" in sys.argv else (150, 400):  # a sanitizer takes terabytes
        status, said = run([*job, counted], mib << 20, mib << 20, resource.RLIMIT_AS)
        check(status == 0, f"{mib} MiB of addresses (ulimit -v) will do: status {status}", said)


main()
