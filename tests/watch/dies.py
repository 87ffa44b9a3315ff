#!/usr/bin/env python3
"""A rank that dies by a signal says in which call, and shows its stack: dies.py PRUN PROGRAM"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks import check

LIMIT_S = 120
#          status, what it says of its place, functions of the program in the order of its stack
WAYS = {
    "outside": (139, r"signal 11 \(Segmentation fault\) at address 0x10, outside MPI", ["lose_footing", "main"]),
    "inside": (139, r"signal 11 \(Segmentation fault\) at address 0x\w+, in MPI_Send", ["main"]),
    "abort": (134, r"signal 6 \(Aborted\), outside MPI", ["abort", "main"]),
    "told": (139, r"signal 11 \(Segmentation fault\), outside MPI", ["main"]),
    "deep": (139, r"signal 11 \(Segmentation fault\) at address 0x\w+, outside MPI, because its stack of \d+ KiB is full "
                  r"\(ulimit -s\)", ["dig", "dig", "main"]),
    "wide": (139, r"signal 11 \(Segmentation fault\) at address 0x\w+, outside MPI, because its stack of \d+ KiB is full "
                  r"\(ulimit -s\)", ["spread", "main"]),
}


def run(prun, program, how, *options, env=None):
    done = subprocess.run([prun, "--oversubscribe", *options, "-np", "2", program, how], capture_output=True, text=True,
                          timeout=LIMIT_S, stdin=subprocess.DEVNULL, env=env)
    return done.returncode, done.stderr


def line_of(text):
    """The first line of dies.c with this text."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "dies.c")) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def places_of(prun):
    places = {"one host": []}
    if subprocess.run([prun, "--virtual", "-H", "a,b", "true"], capture_output=True).returncode == 0:
        places["two hosts"] = ["--virtual", "-H", "a,b"]
    return places


def own_status(prun, program, places):
    """A program may end with the status by which the library says that it has lost a rank: what tells them apart
    is who was the first to fail, however late that is heard."""
    for where, options in places.items():
        for how, words in (("exits", "ended with status 58"), ("aborts", "called MPI_Abort(MPI_COMM_WORLD, 58)"),
                           ("raises", "MPI_Comm_call_errhandler on MPI_COMM_WORLD: ")):
            for _ in range(5):
                status, said = run(prun, program, how, *options)
                first = next((line for line in said.splitlines() if line.startswith("prun: ")), "")
                check(status == 58 and re.search(r"rank 1 on host \S+ ", first) and words in first,
                      f"{where}: rank 1 {how} with 58 itself", said)
    if "two hosts" in places:
        # Once is enough: where the machine stands still meanwhile, the victim's word is all there is in time.
        ends = [run(prun, program, "hangs up", *places["two hosts"]) for _ in range(3)]
        told = [said for status, said in ends if re.search(r"prun: rank 1 on host \S+ ended with status 58", said)]
        check(told and all(status == 58 for status, said in ends),
              "two hosts: rank 1 hangs up and exits with 58", "\n".join(said for status, said in ends))


def stays_away(prun, program, places):
    """Of a rank that ends with status 0 without MPI_Init the others know only that they have lost one."""
    for where, options in places.items():
        for how in ("stays away", "stays away from the end"):
            status, said = run(prun, program, how, *options)
            first = next((line for line in said.splitlines() if line.startswith("prun: ")), "")
            check(status == 213 and re.search(r"rank 1 on host \S+ ended with status 0 and without MPI_Init; rank 0 on host \S+ "
                                              r"ended ", first), f"{where}: rank 1 {how}", said)
            check(not re.search(r"the lines above|:  \(MPI_ERR", said), f"{where}: rank 1 {how}, and its name is told", said)


def together(prun, program):
    """Which thread is first differs from run to run; the others must not end the process while it speaks."""
    for _ in range(10):
        status, said = run(prun, program, "together")
        heads = re.findall(r"^rank 1 on host \S+ dies by signal 11 .*", said, re.M)
        check(status == 139 and len(heads) == 1 and re.search(r"^    lose_footing.*\n    step_over", said, re.M),
              "of several threads that crash at once one shows its stack", said)


LATE = r"^    addr2line took longer than 2 s; addr2line -e FILE \+ADDRESS names lines$"


def lines_are_named(prun, program):
    """Where the machine is too busy for addr2line to answer in time, that is said instead."""
    said = run(prun, program, "outside")[1]
    named = rf"^    lose_footing at dies.c:{line_of('*at = 1;')} \(\S+\+0x\w+\)\n    die at dies.c:{line_of(' == 0) lose_footing((')} "
    check(re.search(named, said, re.M) or re.search(LATE, said, re.M), "lines are named", said)
    said = run(prun, program, "closed")[1]
    check(re.search(r"^    lose_footing at dies.c:", said, re.M) or re.search(LATE, said, re.M),
          "also where standard input and output are closed", said)


def addr2line_is_slow(prun, program):
    """One that never answers, and one that answers for the program only, which is asked first therefore."""
    with tempfile.TemporaryDirectory() as folder:
        slow = os.path.join(folder, "addr2line")
        env = dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"])
        for text, frame in (("exec sleep 1000", r"^    main\+0x\w+ \("),
                            ('case "$3" in /proc/*/exe) echo "named at dies.c:1";; *) exec sleep 1000;; esac', r"^    named at dies.c:1 \(")):
            with open(slow, "w") as file:
                file.write("#!/bin/sh\n" + text + "\n")
            os.chmod(slow, 0o755)
            status, said = run(prun, program, "inside", env=env)
            check(status == 139 and re.search(frame, said, re.M) and re.search(LATE, said, re.M),
                  f"the stack comes where addr2line does: {text}", said)


def main_goes_on(prun, program, how):
    """A thread dies, and speaks; meanwhile main ends with status 0, and may have cancelled it."""
    with tempfile.TemporaryDirectory() as folder:
        speaks, slow = os.path.join(folder, "speaks"), os.path.join(folder, "addr2line")
        with open(slow, "w") as file:
            file.write(f"#!/bin/sh\n: > {speaks}\nexec sleep 1000\n")
        os.chmod(slow, 0o755)
        status, said = run(prun, program, how, env=dict(os.environ, DIES_SPEAKS=speaks,
                                                                  PATH=folder + os.pathsep + os.environ["PATH"]))
        check(status == 139 and re.search(r"^    lose_footing", said, re.M), f"{how}: a thread's death is the process's, whatever main does", said)


def main():
    prun, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for how, (expected, place, functions) in WAYS.items():
        status, said = run(prun, program, how)
        head = rf"^rank 1 on host \S+ dies by {place}\nthe stack of rank 1 on host \S+, the program's frames first:\n    "
        check(status == expected and re.search(head, said, re.M), f"{how}: where it dies", said)
        frames = re.findall(r"^    (?:__GI_)?(\w+)(?:\+0x\w+| at \S+)? \((\S+)\+0x\w+\)(?: \d+ times)?$", said, re.M)
        named = [name for name, file in frames if name in functions]
        check(named[:len(functions)] == functions, f"{how}: functions of the program: {frames}", said)
        ours = ["libmpi_abi" in file for name, file in frames]
        check(ours == sorted(ours) and any(ours) == (how == "inside"), f"{how}: the library's come after the program's", said)
    if shutil.which("addr2line"):
        lines_are_named(prun, program)
        said = run(prun, program, "wordy")[1]
        full = LATE.replace("took longer than 2 s", "said more than there is room for")
        check(re.search(full, said, re.M) or re.search(LATE, said, re.M), "that there is no room for all lines is said", said)
    addr2line_is_slow(prun, program)
    status, said = run(prun, program, "outside", env=dict(os.environ, PATH="/nowhere"))
    check(status == 139 and re.search(r"^    lose_footing\+0x\w+ \(", said, re.M) and "addr2line -e" in said, "functions are, where addr2line is not installed", said)
    together(prun, program)
    status, said = run(prun, program, "alarmed")
    check(status == 139 and re.search(r"^    lose_footing", said, re.M), "an alarm of the program's own cuts no last words short", said)
    status, said = run(prun, program, "before a lock")
    check(status == 139 and re.search(r"^prun: rank 1 .* was killed by signal 11 \(Segmentation fault\) in MPI_Send", said, re.M),
          "it dies also where another thread holds a lock that a stack needs", said)
    check(re.search(r"^rank 1 on host \S+ dies by signal 11 .*, in MPI_Send$", said, re.M), "and says so", said)
    # It may speak for a second less than it is waited for: on a machine that stands still as long, again.
    for _ in range(3):
        status, said = run(prun, program, "fails first")
        first = next((line for line in said.splitlines() if line.startswith("prun: ")), "")
        is_first = status == 139 and "rank 1" in first and "was killed by signal 11" in first
        if is_first:
            break
    check(is_first, "who speaks for as long as it may is heard before whoever fails because of it", said)
    for how in ("in a thread", "in a cancelled thread"):
        main_goes_on(prun, program, how)
    places = places_of(prun)
    own_status(prun, program, places)
    stays_away(prun, program, places)
    status, said = run(prun, program, "own")
    check(status == 7 and "dies by" not in said, "a program's own handler is left alone", said)
    status, said = run(prun, program, "child")
    check(status == 0 and "dies by" not in said, "a rank's child is no rank", said)
    status, said = run(prun, program, "outside", "-x", "TUTTI_BACKTRACE=0")
    check(status == 139 and "dies by" not in said, "it can be turned off", said)


main()
