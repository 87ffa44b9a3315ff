#!/usr/bin/env python3
"""Every function that works is called by the threads of tests/ranks/everywhere.

That program runs under the thread sanitizer; a function that its families lack was never seen
beside other threads. Large-count forms share their bodies with the small ones.
"""
import importlib
import re
import sys

import tree

ONCE = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort"}


def working():
    """Functions of the table with a body."""
    gen = tree.ROOT / "bindings/mpi/gen"
    sys.path.insert(0, str(gen))
    tables, generate = importlib.import_module("table"), importlib.import_module("generate")
    table = tables.Table(str(tree.ROOT / "bindings/mpi/api"))
    bodies = [path for path in tree.files(".cc") if tree.name(path).startswith("bindings/mpi/body/")]
    return table, generate.known_bodies(table, bodies)


def called():
    """What the families call, IN_THREE_FORMS taken apart."""
    text = "".join(path.read_text() for path in tree.files(".cc")
                   if tree.name(path).startswith("tests/ranks/everywhere/"))
    names = set(re.findall(r"\bMPI_\w+", text))
    for blocking, plain in re.findall(r"IN_THREE_FORMS\((\w+), (\w+),", text):
        names |= {f"MPI_{blocking}", f"MPI_I{plain}", f"MPI_{blocking}_init"}
    return names


def main():
    table, bodies = working()
    wanted = {function.c_name(False): function.group for function in table.functions
              if function.body_name(False) in bodies and function.c_name(False) not in ONCE}
    here = called()
    problems = [f"{function} ({group}): no thread of tests/ranks/everywhere calls it"
                for function, group in sorted(wanted.items()) if function not in here]
    tree.finish(problems, len(wanted))


main()
