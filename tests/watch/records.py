#!/usr/bin/env python3
"""--stats and --trace tell what a job of known calls did: records.py PRUN PROGRAM"""
import json
import os
import re
import subprocess
import sys
import tempfile

from checks import check

LIMIT_S = 120
WAYS = {"one host": ["-np", "3"], "two hosts": ["--virtual", "-np", "3", "-H", "a:2,b:1"]}
CALLS = {"MPI_Send": 20, "MPI_Recv": 20, "MPI_Bcast": 15, "MPI_Barrier": 3, "MPI_Comm_rank": 3, "MPI_Comm_size": 3,
         "MPI_Init": 3, "MPI_Finalize": 3}


def run(prun, options, program, *words):
    done = subprocess.run([prun, *options, program, *words], capture_output=True, text=True, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr


def stats(name, prun, options, program):
    status, said = run(prun, ["--stats", *options], program, "wait")
    check(status == 0, f"{name}: the job ends well", said)
    told = {row[0]: int(row[1]) for row in re.findall(r"^ +(MPI_\w+) +(\d+) ", said, re.M)}
    check(told == CALLS, f"{name}: every call is counted: {told}", said)
    waits = [float(row[1]) for row in re.findall(r"^ +\d+ +\S+ +([\d.]+) +([\d.]+)$", said, re.M)]
    check(len(waits) == 3 and sum(waits[1:]) > 0.1, f"{name}: two ranks wait for a late one: {waits}", said)
    rows = re.findall(r"^ +(\S+) -> (\S+) +(\w+) +(\d+) +(\d+)$", said, re.M)
    there = [(int(row[3]), int(row[4])) for row in rows if name == "one host" or row[:3] == ("a", "b", "tcp")]
    check(there and there[0][0] >= 10 and there[0][1] >= 10000, f"{name}: bytes of the link: {rows}", said)


def trace(name, prun, options, program):
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/trace.json"
        status, said = run(prun, ["--trace", file, *options], program)
        check(status == 0 and file in said, f"{name}: the job ends well and names the file", said)
        with open(file) as text:
            events = json.load(text)["traceEvents"]
    calls = [event for event in events if event["ph"] == "X"]
    told = {call: sum(event["name"] == call for event in calls) for call in CALLS}
    check(told == CALLS and len(calls) == sum(CALLS.values()), f"{name}: every call is in the timeline: {told}", calls)
    for rank in range(3):
        mine = sorted((event["ts"], event["dur"]) for event in calls if event["tid"] == rank)
        apart = all(begin + took <= then + 0.002 for (begin, took), (then, _) in zip(mine, mine[1:]))
        check(mine and apart, f"{name}: calls of rank {rank} follow each other", mine)
    for call, rank, about in (("MPI_Send", 0, {"peer": 2, "tag": 7, "bytes": 1000}), ("MPI_Recv", 2, {"peer": 0, "tag": 7, "bytes": 1000})):
        told = [event["args"] for event in calls if event["name"] == call and event["tid"] == rank]
        check(len(told) == 10 and all(about.items() <= args.items() for args in told), f"{name}: {call} says what it was about", told)
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    hosts = {"host a", "host b"} if name == "two hosts" else set()
    check({"rank 0", "rank 1", "rank 2", *hosts} <= names, f"{name}: tracks have names: {names}", events)


def trace_of_an_abort(name, prun, options, program):
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/trace.json"
        status, said = run(prun, ["--trace", file, *options], program, "abort")
        check(status == 3 and file in said, f"{name}: an aborted job has a timeline", said)
        with open(file) as text:
            calls = [event for event in json.load(text)["traceEvents"] if event["ph"] == "X"]
    told = {event["name"] for event in calls if event["tid"] == 0}
    check({"MPI_Init", "MPI_Send", "MPI_Barrier"} <= told, f"{name}: of whoever aborted it is whole: {told}", calls)


def main():
    prun, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for name, options in WAYS.items():
        if name == "two hosts" and run(prun, [*options], "/bin/true")[0] == 208:
            print("skipped two hosts: no namespaces here")
            continue
        stats(name, prun, options, program)
        trace(name, prun, options, program)
        trace_of_an_abort(name, prun, options, program)
    status, said = run(prun, ["--trace", "/no/such/folder/trace", "-np", "1"], program)
    check(status == 212 and "cannot write the trace to /no/such/folder/trace" in said, "a bad file is told", said)
    if os.path.exists("/dev/full"):
        status, said = run(prun, ["--trace", "/dev/full", "-np", "2"], program)
        check(status == 212 and "is not whole: No space left" in said, "a full disk is told", said)


main()
