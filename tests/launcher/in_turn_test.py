#!/usr/bin/env python3
"""Ranks that run one MPI program after another: each meets the others' program of the same turn, whatever the one before
has left. in_turn_test.py PRUN IN_TURN"""
import os
import sys

from checks import check, result, run

CLOSES = f'{sys.executable} -c "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"'
LEAVES_IT_DEAD = f'{sys.executable} -c "import subprocess, sys, time; p = subprocess.Popen([sys.argv[1], sys.argv[2]]); ' \
                 'time.sleep(600)" "$0" crashes'
PRUN, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
WAYS = {"one host": ("--oversubscribe", "-np", "3"), "tcp inside a host": ("--oversubscribe", "-np", "3", "-x", "TUTTI_LINK=tcp"),
        "two hosts": ("--virtual", "-H", "a:2,b:1", "-np", "3"), "hosts of one rank": ("--virtual", "-H", "a,b,c", "-np", "3")}


def job(script, *options):
    """Status and output of a job whose ranks run SCRIPT, in which $0 is the program."""
    done = run(PRUN, *options, "sh", "-c", script, PROGRAM)
    return done.returncode, done.stdout + done.stderr


def good():
    three = '"$0" 0 && "$0" 1 && exec "$0" 2'
    for where, way in WAYS.items():
        status, said = job(three, *way)
        check(f"three programs on {where}",
              status == 0 and [said.count(f"program {i} is done") for i in range(3)] == [1, 1, 1], said)
    status, said = job(f'"$0" 0; {CLOSES} "$0" 1; {CLOSES} "$0" 2; "$0" 3', *WAYS["two hosts"])
    check("some of them behind a wrapper that closes descriptors", status == 0 and said.count("is done") == 4, said)
    status, said = job(three, *WAYS["two hosts"], "-x", "TUTTI_MISMATCH=every")
    check("their calls are not compared with each other's", status == 0 and said.count("is done") == 3, said)
    status, said = job('for i in $(seq 100); do "$0" 1 || exit 1; done', "--oversubscribe", "-np", "2")
    check("a hundred", status == 0 and said.count("is done") == 100, said)
    for where in ("one host", "two hosts"):
        # More programs than ranks may be apart.
        status, said = job('"$0" 0; [ $OMPI_COMM_WORLD_RANK != 0 ] || for i in $(seq 100); do "$0" alone || exit 1; done',
                           *WAYS[where])
        check(f"ranks that have ended hold nobody back on {where}", status == 0 and said.count("alone") == 100, said)
    apart = 'for i in $(seq 20); do sleep 0.0$(($$ * (i + 7) % 10)); true; "$0" $((i % 2)) || exit 1; done'
    for where in ("hosts of one rank", "two hosts"):
        status, said = job(apart, *WAYS[where])
        check(f"twenty, and others between, each rank in its own time on {where}", status == 0 and said.count("is done") == 20, said)
    status, said = job('"$0" 0; "$0" 0', "--stats", *WAYS["one host"])
    row = next((line.split() for line in said.splitlines() if line.strip().startswith("MPI_Allreduce")), [])
    check("--stats adds them up: five calls of three ranks, twice", status == 0 and "30" in row, said)


def bad():
    for where, way in WAYS.items():
        status, said = job('"$0" 0; [ "$OMPI_COMM_WORLD_RANK" != 0 ] || "$0" 1', *way)
        check(f"a rank alone in a second program does not wait for ever on {where}",
              status != 0 and said.count("is done") == 1 and "MPI_ERR_PROC_ABORTED" in said, said)
    status, said = job('"$0" dies; "$0" 0', *WAYS["one host"])
    check("nothing follows one that broke off", status != 0 and "which ended without MPI_Finalize" in said, said)
    broken = "an MPI program before this one, which ended without MPI_Finalize"
    for where, way in WAYS.items():
        for what, script in {
                "while the others are not there": '[ $RANK = 1 ] && "$0" silent; [ $RANK = 1 ] || sleep 1; "$0" 0',
                "while the others are in theirs": '[ $RANK = 1 ] && "$0" silent; "$0" 0',
                "on all ranks, again and again": '"$0" silent; "$0" silent; "$0" silent; "$0" 0',
                "in the second turn": '"$0" 0; [ $RANK = 1 ] && "$0" silent; "$0" 1',
                "whatever the script goes on with": '[ $RANK = 1 ] && "$0" silent; "$0" 0; sleep 600'}.items():
            status, said = job(script, *way)
            turns = 1 if what == "in the second turn" else 0
            check(f"nothing follows one that called MPI_Init alone, {what}, on {where}",
                  status == 16 and said.count("is done") == turns and "ended the job" in said and broken in said, said)
    for where in ("two hosts", "hosts of one rank"):
        status, said = job('[ $RANK = 2 ] && { "$0" silent; sleep 1; exit 0; }; "$0" 0', *WAYS[where])
        check(f"who is missing is named, and its end is the reason, on {where}", status == 213 and "done" not in said and
              "came to the end" not in said or "came to the end of the job: rank 2" in said, said)
    status, said = job('unset TUTTI_DOOR_KEY; "$0" 0; "$0" 1', *WAYS["one host"])
    check("a variable that is missing is named", status != 0 and "TUTTI_DOOR_KEY is not set" in said, said)
    status, said = job('"$0" 0; if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exit 7; fi; sleep 1; "$0" 0', *WAYS["two hosts"])
    check("the status of one that ends between two programs", status == 7, said)


def outlived():
    """Where somebody waits for a program that has died behind a script, a standstill is the end; else scripts go on."""
    words = "ended between MPI_Init and MPI_Finalize, and what started it goes on"
    hasty = ("--hang-report", "2")
    for where, way in WAYS.items():
        for what, script in {
                "a script": '[ $RANK = 1 ] && { "$0" crashes; sleep 600; }; "$0" 0',
                "a script that has run another": '"$0" 0; [ $RANK = 1 ] && { "$0" silent; sleep 600; }; "$0" 1',
                "a parent that does not wait for it": f"[ $RANK = 1 ] && {LEAVES_IT_DEAD}; \"$0\" 0",
                "a wrapper that closes descriptors": f"[ $RANK = 1 ] && {{ {CLOSES} \"$0\" silent; sleep 600; }}; \"$0\" 0"}.items():
            status, said = job(script, *hasty, *way)
            check(f"nobody waits for a program that {what} has outlived, on {where}",
                  status == 213 and said.count(words) == 1 and "the MPI program of rank 1 on host" in said and
                  "rank 1 on host" in said and "has died, and what started it goes on" in said, said)
            if where != "one host":
                break
    status, said = job('[ $RANK = 1 ] && { "$0" closes; sleep 600; }; "$0" 0', *hasty, *WAYS["one host"])
    check("also where the program dies behind a standstill that was reported",
          status == 213 and "; the job goes on)" in said and said.count(words) == 1, said)
    status, said = job('[ $RANK = 1 ] && { "$0" crashes; sleep 5; exit 4; }; "$0" 0', "--continuous", *hasty, *WAYS["one host"])
    check("where a failed rank does not end the others its script goes on", "ended with status 4" in said and words not in said, said)
    for ranks in ("1", "3"):
        status, said = job('"$0" crashes; sleep 5; echo tidied', "--oversubscribe", "-np", ranks, *hasty)
        check(f"where nobody waits, scripts tidy up: {ranks} ranks",
              status == 213 and "tidied" in said and words not in said, said)
    for lives in ("closes", "stands in"):
        status, said = job(f'[ $RANK = 1 ] && {{ "$0" "{lives}"; exit $?; }}; "$0" 0', *hasty, *WAYS["one host"])
        check(f"a program that {lives} is not taken for one that ended", status == 5 and words not in said, said)


good()
bad()
outlived()
result()
