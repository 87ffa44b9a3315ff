#!/usr/bin/env python3
"""generate.py API_FOLDER WHAT OUTPUT [BODY.cc ...] -- writes one generated file.

WHAT: header, bodies, functions, names, map, linktest, arguments, mutant, wide, or the number of a
chapter.
"""
import sys

import arguments
import header
import mutant
import names
import table as tables
import tests
import wide
import wrappers


def produce(table, what, bodies):
    if what.isdigit():
        return wrappers.write_chapter(table, int(what), bodies)
    makers = {
        "header": lambda: header.write(table),
        "bodies": lambda: wrappers.write_bodies(table, bodies),
        "functions": lambda: names.write_functions(table),
        "names": lambda: names.write_names(table),
        "map": lambda: names.write_map(table),
        "arguments": lambda: arguments.write(table, bodies),
        "mutant": lambda: mutant.write(table, bodies),
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
    table = tables.Table(sys.argv[1])
    text = produce(table, sys.argv[2], known_bodies(table, sys.argv[4:]))
    with open(sys.argv[3], "w") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
