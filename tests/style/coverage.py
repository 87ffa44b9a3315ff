#!/usr/bin/env python3
"""docs/coverage.md says what the bodies and the mutants of tests/mutants say.

coverage.py          checks
coverage.py --write  writes the page
"""
import importlib
import sys

import tree

PAGE = "docs/coverage.md"

def page():
    gen = tree.ROOT / "bindings/mpi/gen"
    sys.path.insert(0, str(gen))
    tables, generate = importlib.import_module("table"), importlib.import_module("generate")
    coverage = importlib.import_module("coverage_page")
    table = tables.Table(str(tree.ROOT / "bindings/mpi/api"))
    bodies = [path for path in tree.files(".cc") if tree.name(path).startswith("bindings/mpi/body/")]
    sys.path.insert(0, str(tree.ROOT / "tests/mutants"))
    mutants = importlib.import_module("lists")
    return coverage.write(table, generate.known_bodies(table, bodies), mutants.killers(),
                          mutants.survivors())


def main():
    path, wanted = tree.ROOT / PAGE, page()
    if "--write" in sys.argv[1:]:
        path.write_text(wanted)
        return
    stale = not path.exists() or path.read_text() != wanted
    tree.finish([f"{PAGE} is stale; run tests/style/coverage.py --write"] if stale else [], 1)


main()
