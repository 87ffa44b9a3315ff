#!/usr/bin/env python3
"""A rank that is sent more than it receives is reported once, and the job goes on: floods.py PRUN PROGRAM"""
import os
import re
import subprocess
import sys

from checks import check

LIMIT_S = 120
WAYS = {"one host": ["--oversubscribe", "-np", "3"], "two hosts": ["--oversubscribe", "--virtual", "-np", "3", "-H", "a:2,b:1"]}


def run(prun, options, *words):
    done = subprocess.run([prun, *options, *words], capture_output=True, text=True,
                          timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr


def shown(prun):
    return subprocess.run([prun, "--ps"], capture_output=True, text=True, timeout=LIMIT_S).stdout


def stands_still(prun, options, program, what, report):
    """A job whose rank asks for another message goes on until this report comes; what prun --ps says by then."""
    with subprocess.Popen([prun, "--hang-report", "1", "--timeout", "100", *options, program, "never", "300"], text=True,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
        said = ""
        for line in job.stderr:
            said += line
            if re.search(report, said):
                break
        marked = shown(prun)
        job.terminate()
        check(re.search(report, said), what, said)
        job.communicate(timeout=LIMIT_S)
    return marked


def main():
    prun, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    few = ["-x", "TUTTI_FLOOD_MESSAGES=800"]
    for name, options in WAYS.items():
        if name == "two hosts" and run(prun, options, "true")[0] == 208:
            print("skipped two hosts: no namespaces here")
            continue
        host = "b" if name == "two hosts" else r"\S+"
        status, said = run(prun, [*few, "-x", "TUTTI_UNEXPECTED_BYTES=64k", *options], program, "waits", "2000")
        check(status == 0, f"{name}: the job goes on and ends well", said)
        check(len(re.findall(rf"rank 2 on host {host} is flooded: 800 messages \(", said)) == 1,
              f"{name}: the flooded rank is named once", said)
        check("800 from rank 0 (tags 5 to 7, MPI_COMM_WORLD; its sends are held back)" in said,
              f"{name}: who floods it is named, and held back", said)
        status, said = run(prun, [*few, *options], program, "waits", "2000")
        check(status == 0 and "800 from rank 0 (tags 5 to 7, MPI_COMM_WORLD)" in said,
              f"{name}: with room, nobody is held back", said)
        status, said = run(prun, options, program, "waits", "2000")
        check(status == 0 and "flooded" not in said, f"{name}: few messages are not reported", said)
        marked = stands_still(prun, options, program, f"{name}: the hang report counts them",
                              r"rank 2 on host \S+ has 30[01] messages \(29.3 KiB\) that it has not received\n")
        check("messages pile up in rank 2" in marked, f"{name}: --ps marks the job", marked)
        stands_still(prun, ["-x", "TUTTI_UNEXPECTED_BYTES=16k", *options], program, f"{name}: where their senders wait it says so",
                     r"rank 2 on host \S+ has \d+ messages \(.*\) that it has not received; there is no room for more, and "
                     r"the senders of \d+ wait for that \(a larger TUTTI_UNEXPECTED_BYTES")


main()
