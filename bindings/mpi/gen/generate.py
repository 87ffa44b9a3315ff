#!/usr/bin/env python3
"""generate.py API_FOLDER WHAT OUTPUT [BODY.cc ...] -- writes one generated file.

WHAT: header, bodies, functions, names, map, linktest, arguments, mutant, wide, mover; or the numbers of
chapters, with commas, which go to chapter_N.cc in the folder OUTPUT: reading the table takes longer
than writing one of them.
"""
import pathlib
import sys

import arguments
import header
import mover
import mutant
import names
import table as tables
import tests
import wide
import wrappers


def produce(table, what, bodies):
    makers = {
        "header": lambda: header.write(table),
        "bodies": lambda: wrappers.write_bodies(table, bodies),
        "functions": lambda: names.write_functions(table),
        "names": lambda: names.write_names(table),
        "map": lambda: names.write_map(table),
        "arguments": lambda: arguments.write(table, bodies),
        "mutant": lambda: mutant.write(table, bodies),
        "mover": lambda: mover.write(table, bodies),
        "wide": lambda: wide.write(table, bodies),
        "linktest": lambda: tests.write(table),
    }
    if what not in makers:
        sys.exit(__doc__)
    return makers[what]()


def known_bodies(table, paths):
    """Bodies found in the sources; a body that no function has is a mistake."""
    found = tables.scan_bodies(paths)
    known = {f.body_name(large) for f in table.functions for large in f.forms()}
    return found & known


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    what, output = sys.argv[2], pathlib.Path(sys.argv[3])
    table = tables.Table(sys.argv[1])
    bodies = known_bodies(table, sys.argv[4:])
    if not what[0].isdigit():
        output.write_text(produce(table, what, bodies))
        return
    for chapter in what.split(","):
        path = output / f"chapter_{chapter}.cc"
        path.write_text(wrappers.write_chapter(table, int(chapter), bodies))


if __name__ == "__main__":
    main()
