#!/usr/bin/env python3
"""Collectives that do not match end the job with one line: differs.py PRUN PROGRAM"""
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys

LIMIT_S = 120
KINDS = {
    "root": ("MPI_{}educe(root 0, 16 B, MPI_SUM)", "MPI_{}educe(root 1, 16 B, MPI_SUM)"),
    "order": ("MPI_{}educe(root 0, 16 B, MPI_SUM)", "MPI_{}cast(root 1, 16 B)"),
    "type": ("MPI_{}llreduce(4 x MPI_INT, MPI_SUM)", "MPI_{}llreduce(4 x MPI_FLOAT, MPI_SUM)"),
    "count": ("MPI_{}llreduce(4 x MPI_INT, MPI_SUM)", "MPI_{}llreduce(3 x MPI_INT, MPI_SUM)"),
    "operation": ("MPI_{}llreduce(4 x MPI_INT, MPI_SUM)", "MPI_{}llreduce(4 x MPI_INT, MPI_MAX)"),
    "data": (),
    "mixed": ("MPI_Allreduce(4 x MPI_INT, MPI_SUM)", "MPI_Iallreduce(4 x MPI_INT, MPI_SUM)"),
    "finalize": ("MPI_Finalize",),
    "borne": ("MPI_Finalize", "MPI_{}cast(root 0, 16 B)"),
}


def letters(call, how):
    """MPI_Reduce or MPI_Ireduce. Ranks that tell it themselves do not say which."""
    first = {"educe": ("R", "Ir"), "llreduce": ("A", "Ia"), "cast": ("B", "Ib")}
    end = call[call.index("{}") + 2:call.index("(")]
    return {call.format(word) for word in (first[end] if how == "nonblocking" else first[end][:1])}


def run(prun, options, words):
    done = subprocess.run([prun, "--timeout", "100", "--hang-report", "5", *options, *words], capture_output=True, text=True,
                          timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr


def problem_of(status, said, kind, how, last):
    if status != 214:
        return f"ends with {status}"
    lines = [line for line in said.splitlines() if re.search("different (collectives|arguments)", line)]
    if len(lines) != 1:
        return f"{len(lines)} lines instead of one"
    if not lines[0].startswith("prun: "):
        return "is not the job's line"
    if kind == "data":
        return "" if f"rank {last}" in lines[0] else f"does not name rank {last}"
    for call in KINDS[kind]:
        if "{}" not in call:
            if call not in lines[0]:
                return f"does not name {call}"
        elif not any(word in lines[0] for word in letters(call, how)):
            return f"does not name {call}"
    return "" if f"rank {last}" in lines[0] else f"does not name rank {last}"


def main():
    prun, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    ways = {"one host": (["-np", "3"], 2), "two hosts": (["--virtual", "-np", "4", "-H", "a:2,b:2"], 3)}
    if run(prun, ways["two hosts"][0], ["true"])[0] == 208:
        print("skipped two hosts: no namespaces here")
        del ways["two hosts"]
    cases = list(itertools.product(ways, KINDS, ("world", "part"), ("blocking", "nonblocking")))
    # Finalize meets on the world: of a part of it nobody knows who is missing.
    cases = [case for case in cases if case[1] not in ("finalize", "borne") or case[2] == "world"]

    def one(case):
        way, kind, where, how = case
        options, last = ways[way]
        status, said = run(prun, ["--oversubscribe", *options], [program, kind, where, how])
        problem = problem_of(status, said, kind, how, last)
        return case, problem, said

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # they mostly wait
        for case, problem, said in pool.map(one, cases):
            print(f"{'FAILED' if problem else 'good'}: {', '.join(case)}{': ' + problem if problem else ''}")
            if problem:
                print(said)
            failed += bool(problem)
    return 1 if failed else 0


sys.exit(main())
