#!/usr/bin/env python3
"""run.py BUILD all|FUNCTION ...   finds for each function a program that fails when it does nothing
run.py BUILD sample [N]         asks N of the programs found so before whether they still do

A function counts as tested when a test fails if it is broken. The library of mutants (generated,
preloaded into the ranks) has one function return MPI_SUCCESS at once and do nothing; the programs
of the suites `ranks` and `conformance` that call it must notice, by a failed check, a crash or
waiting for ever. `all` writes killers.txt; what survives must have a reason in survivors.txt,
which may only shrink. docs/coverage.md shows both.
"""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

import lists

SUITES = ("tutti:ranks", "tutti:conformance", "tutti:mutants")
# Calls every function with bad arguments only: no proof that good ones do anything.
NO_PROOF = ("arguments", "flood")
COUNTS = ("np3", "np2", "np4", "np1")
SHORTEST, TIMES = 6, 20  # seconds that a program may take, and times what it takes with nothing broken
SAMPLE = 30
TRIES = 3  # of a sample: luck may hide a mutant once
STEADY = 8  # times in a row that a program must notice before it counts as the one that does
SURVIVED, FAILED, HUNG = "survived", "failed", "hung"


def symbols(path, defined):
    """MPI functions that an ELF file defines, or those that it calls."""
    option = "--defined-only" if defined else "--undefined-only"
    text = subprocess.run(["nm", "-D", option, str(path)], capture_output=True, text=True).stdout
    return set(re.findall(r"\bMPI_\w+", text))


def launcher(command):
    """The place of prun in a command, or -1."""
    names = [pathlib.Path(word).name for word in command]
    return names.index("prun") if "prun" in names else -1


class Program:
    """One test of the build folder: a program at one number of ranks, with or without preloads."""

    def __init__(self, build, test, mutants):
        self.name, self.build, self.mutants = test["name"], build, mutants
        self.command, self.env = list(test["cmd"]), dict(os.environ, **test["env"])
        path = build / self.command[-1]
        self.preload = next((word for word in self.command if word.startswith("LD_PRELOAD=")), None)
        self.calls = symbols(path, False) if path.is_file() else set()
        if self.preload:
            wide = self.preload.split("=", 1)[1]
            forms = symbols(wide, True)
            self.calls = {name + "_c" if name in forms else name for name in self.calls}
        self.seconds = 0.0

    def run(self, function, limit):
        words = [f"MUTANT={function}",
                 f"{self.preload or 'LD_PRELOAD='}{':' if self.preload else ''}{self.mutants}"]
        command = [word for word in self.command if word not in ("env", self.preload)]
        command[-1:-1] = ["env", *words]
        after = launcher(command) + 1
        command[after:after] = ["--timeout", str(limit)]
        started = time.monotonic()
        try:
            done = subprocess.run(command, cwd=self.build, env=self.env, timeout=limit + 30,
                                  stdin=subprocess.DEVNULL, capture_output=True)
            code = done.returncode
        except subprocess.TimeoutExpired:
            code = 1
        took = time.monotonic() - started
        if not function:
            self.seconds = took
        if code == 0:
            return SURVIVED
        return HUNG if took >= limit else FAILED


def programs(build, wanted=None):
    """Tests that a mutant can be put into: under prun, the program last. Built, and working."""
    mutants = build / "tests/mutants/libmpi_mutant.so"
    if not mutants.exists():
        sys.exit(f"no {mutants}: build it first (ninja -C {build})")
    tests = json.loads((build / "meson-info/intro-tests.json").read_text())
    found = []
    for test in tests:
        name = test["name"]
        if not set(test["suite"]) & set(SUITES) or name.split(" ")[0] in NO_PROOF:
            continue
        if launcher(test["cmd"]) < 0 or "hosts" in name or not set(name.split(" ")) & set(COUNTS):
            continue
        if wanted is None or name in wanted:
            found.append(Program(build, test, mutants))
    return [program for program in found if program.calls]


def order(program):
    count = next(COUNTS.index(word) for word in program.name.split(" ") if word in COUNTS)
    return count, program.seconds


def hunt(function, candidates):
    """The name of a program that fails without this function, or None. Failing beats hanging, and
    failing each time beats failing by luck."""
    hung = lucky = None
    for program in sorted(candidates, key=order):
        if hung and order(program)[0] > 0:
            break
        limit = max(SHORTEST, int(TIMES * program.seconds))
        result = program.run(function, limit)
        if result == FAILED:
            if all(program.run(function, limit) != SURVIVED for _ in range(STEADY - 1)):
                return program.name
            lucky = lucky or program.name
        if result == HUNG:
            hung = hung or program.name
    return hung or lucky


def search(build, functions):
    """function -> killer or None, for each."""
    everyone = programs(build)
    for program in everyone:
        if program.run("", 120) != SURVIVED:
            sys.exit(f"{program.name} fails with nothing broken")
    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = {function: pool.submit(hunt, function,
                                       [p for p in everyone if function in p.calls])
                 for function in functions}
        for function, task in tasks.items():
            found[function] = task.result()
            print(f"{function}: {found[function] or 'SURVIVES'}", flush=True)
    return found


def sample(build, number):
    known = lists.killers()
    seed = random.randrange(1 << 30)
    chosen = random.Random(seed).sample(sorted(known), min(number, len(known)))
    by_name = {program.name: program for program in programs(build, set(known.values()))}
    problems = []
    for function in chosen:
        program = by_name.get(known[function])
        if program is None:
            problems.append(f"{function}: there is no test '{known[function]}'")
        elif all(program.run(function, SHORTEST) == SURVIVED for _ in range(TRIES)):
            problems.append(f"{function} does nothing, and '{program.name}' does not notice")
    for problem in problems:
        print(problem)
    print(f"{len(chosen)} functions tried (seed {seed}), {len(problems)} survive")
    sys.exit(1 if problems or not chosen else 0)


def main():
    build, what, *rest = sys.argv[1:]
    build = pathlib.Path(build).resolve()
    if what == "sample":
        sample(build, int(rest[0]) if rest else SAMPLE)
    functions = sorted(symbols(build / "tests/mutants/libmpi_mutant.so", True))
    found = search(build, functions if what == "all" else [what, *rest])
    lists.write_killers(found if what == "all" else {**lists.killers(), **found})
    reasons = lists.survivors()
    new = [function for function in found if found[function] is None and function not in reasons]
    for function in new:
        print(f"{function} survives, and survivors.txt has no reason for it")
    sys.exit(1 if new else 0)


if __name__ == "__main__":
    main()
