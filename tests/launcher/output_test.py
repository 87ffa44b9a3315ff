#!/usr/bin/env python3
"""Output and input to the last byte. Usage: output_test.py PRUN"""
import os
import subprocess
import sys
import tempfile
import time

from checks import check, result, run
from jobs import wait_until

PRUN = os.path.abspath(sys.argv[1])


def filters():
    """A rank's own filters write after it has ended."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        for way in ((), ("--virtual", "-H", "a,b")):
            for _ in range(5):
                done = run(PRUN, "--oversubscribe", *way, "-np", "2", "bash", "-c",
                           f"exec > >(sleep 0.3; tee {folder}/log) 2>&1; echo the-result")
                check(f"what a filter writes after the end of its rank {way}",
                      done.returncode == 0 and done.stdout.count("the-result") == 2, done)
    done = run(PRUN, "-np", "1", "bash", "-c", "exec 2> >(sleep 0.3; sed 's/^/filtered: /' >&2); echo why >&2; exit 3")
    check("a failing rank's error text through a filter",
          done.returncode == 3 and "filtered: why" in done.stderr, done)
    done = run(PRUN, "--oversubscribe", "-np", "2", "bash", "-c",
               "[ $RANK = 0 ] && { exec > >(sleep 0.3; cat); echo of-rank-0; exit 3; }; sleep 100")
    check("filters of the rank that failed are spared while others are ended",
          done.returncode == 3 and "of-rank-0" in done.stdout, done)
    done = run(PRUN, "-np", "1", "bash", "-c", "sleep 1000 & echo here")
    check("who holds the pipe and is silent is not waited for", done.returncode == 0 and done.stdout == "here\n", done)
    done = run(PRUN, "-np", "1", "bash", "-c", "yes & sleep 0.1")
    check("nor who writes for ever", done.returncode == 0 and done.stdout.startswith("y\n"), done.stderr)


def closed_input():
    """Nobody reads: nothing is read for them."""
    with open("/dev/zero", "rb") as zeros:
        job = subprocess.Popen([PRUN, "-np", "1", "sh", "-c", "exec <&-; echo closed; sleep 1000"], stdin=zeros,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        job.stdout.readline()

        def spent():
            with open(f"/proc/{job.pid}/stat") as file:
                return sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13])

        def is_quiet():
            before = spent()
            time.sleep(1)
            return spent() - before <= 5
        wait_until(is_quiet, "prun to stop reading what nobody takes")
        check("a rank that closed its input makes nobody spin", True)
        job.terminate()
        job.wait()
    done = run(PRUN, "-np", "1", "head", "-c", "1000000", stdin=open("/dev/zero", "rb"))
    check("a rank that reads some of an endless input", done.returncode == 0 and len(done.stdout) == 1000000, done.stderr)


filters()
closed_input()
result()
