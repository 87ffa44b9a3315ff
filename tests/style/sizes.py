#!/usr/bin/env python3
"""Sizes: files, doors and algorithms stay short enough to be read in one sitting (house rule 11).

Doors and algorithms are counted without comments and blank lines: their comments are the contract.
"""
import re

import tree

FILE, DOOR, ALGORITHM, FUNCTION = 350, 160, 60, 60

# The short list of exceptions, each with its reason.
EXCEPTIONS = {
    "lib/wireup/segment.h": "one layout, one page: splitting it would hide the offsets",
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


def functions(text):
    """(line, length) of each brace block that starts in column 0 and is a function body."""
    start = None
    for number, line in enumerate(text.splitlines(), 1):
        if start is None and re.match(r"^[A-Za-z_].*\)[^;]*\{\s*$|^    .*\)( const| override)* \{$", line):
            if not line.startswith(("namespace", "class", "struct", "extern", " ")):
                start = number
        elif start is not None and line.startswith("}"):
            yield start, number - start + 1
            start = None


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
        if path.suffix == ".cc":
            problems += [f"{name}:{line}: function of {length} lines, at most {FUNCTION}"
                         for line, length in functions(text) if length > FUNCTION]
    tree.finish(problems, len(paths))


main()
