#!/usr/bin/env python3
"""Sizes: files, doors and algorithms stay short enough to be read in one sitting.

Doors and algorithms are counted without comments and blank lines: their comments are the contract.
"""
import scan
import tree

FILE, DOOR, ALGORITHM, FUNCTION = 350, 160, 60, 60
PARAMETERS, NESTING = 6, 3
# Here functions have the parameters that somebody else gives them.
GIVEN_PARAMETERS = {
    "bindings/": "MPI's functions",
    "benchmarks/": "MPI's functions",
    "lib/comm/messages.cc": "a message of MPI has seven arguments",
    "launcher/pmix/server.cc": "OpenPMIx's callbacks",
    "tests/support/cuda/driver.cc": "CUDA's cuLaunchKernel",
    "tests/support/nccl/nccl.cc": "NCCL's functions",
}

# The short list of exceptions, each with its reason.
EXCEPTIONS = {
    "lib/wireup/segment.h": "one layout, one page: splitting it would hide the offsets",
    "lib/comm/comm.h": "MPI's own list of what communicators, groups and requests do (0010)",
}


def is_door(path):
    parts = path.relative_to(tree.ROOT).parts
    return parts[0] in ("lib", "launcher") and len(parts) == 3 and parts[2] == parts[1] + ".h"


def is_algorithm(path):
    parts = path.relative_to(tree.ROOT).parts
    return parts[:2] == ("lib", "coll") and len(parts) == 4 and path.suffix == ".cc"


def code_lines(text):
    stripped = (line.strip() for line in text.splitlines())
    return sum(1 for line in stripped if line and not line.startswith("//"))


def function_problems(name, text):
    """Length, parameters and nesting of every function of a file."""
    for function in scan.functions(text):
        where = f"{name}:{function.line}: {function.name}"
        if function.length > FUNCTION:
            yield f"{where}: {function.length} lines, at most {FUNCTION}"
        if function.parameters > PARAMETERS and not name.startswith(tuple(GIVEN_PARAMETERS)):
            yield f"{where}: {function.parameters} parameters, at most {PARAMETERS}"
        if function.nesting > NESTING:
            yield f"{where}: nested {function.nesting} deep, at most {NESTING}"


def main():
    problems = []
    paths = tree.files(".cc", ".h", ".py")
    for path in paths:
        name = tree.name(path)
        if name in EXCEPTIONS:
            continue
        text = path.read_text(errors="replace")
        lines = text.count("\n")
        limit = DOOR if is_door(path) else ALGORITHM if is_algorithm(path) else FILE
        if limit != FILE:
            lines = code_lines(text)
        if lines > limit:
            problems.append(f"{name}: {lines} lines, at most {limit}")
        if path.suffix in (".cc", ".h"):
            problems += function_problems(name, text)
    tree.finish(problems, len(paths))


main()
