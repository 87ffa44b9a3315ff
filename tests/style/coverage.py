#!/usr/bin/env python3
"""docs/coverage.md says what the bodies and the programs below tests/ say.

coverage.py          checks
coverage.py --write  writes the page
"""
import importlib
import sys

import tree

PAGE = "docs/coverage.md"
# Programs written to MPI itself; unit tests of rooms are not.
PROGRAMS = ("tests/ranks/", "tests/conformance/", "tests/virtual/", "tests/hosts/", "tests/threads/")


def page():
    gen = tree.ROOT / "bindings/mpi/gen"
    sys.path.insert(0, str(gen))
    tables, generate = importlib.import_module("table"), importlib.import_module("generate")
    coverage = importlib.import_module("coverage_page")
    table = tables.Table(str(tree.ROOT / "bindings/mpi/api"))
    bodies = [path for path in tree.files(".cc") if tree.name(path).startswith("bindings/mpi/body/")]
    programs = [path for path in tree.files(".cc", ".c", ".h") if tree.name(path).startswith(PROGRAMS)]
    return coverage.write(table, generate.known_bodies(table, bodies), programs)


def main():
    path, wanted = tree.ROOT / PAGE, page()
    if "--write" in sys.argv[1:]:
        path.write_text(wanted)
        return
    stale = not path.exists() or path.read_text() != wanted
    tree.finish([f"{PAGE} is stale; run tests/style/coverage.py --write"] if stale else [], 1)


main()
