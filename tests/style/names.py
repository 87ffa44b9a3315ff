#!/usr/bin/env python3
"""No two types of one name: what the headers of two rooms define, at the level of namespaces, is called
differently, so that a name in a comment, a question or a search means one thing. Types inside of
others are named by those, and aliases name what is defined elsewhere."""
import collections
import re

import tree

TYPE = re.compile(r"^(?:template <.*> )?(?:class|struct|union|enum(?: class| struct)?) "
                  r"(?:alignas\([^)]*\) |\[\[\w+\]\] )?(\w+)(?: final)?(?: : [^{;]*)?\s*\{", re.M)
# Name: why two rooms' types may share it. Empty, and best left so.
ALLOWED = {}


def room_of(name):
    parts = name.split("/")
    return parts[0] if parts[0] == "bindings" else "/".join(parts[:2])


def main():
    where, checked = collections.defaultdict(dict), 0
    for path in tree.files(".h"):
        name = tree.name(path)
        if not name.startswith(("lib/", "launcher/", "bindings/mpi/")):
            continue
        checked += 1
        for found in TYPE.findall(path.read_text(errors="replace")):
            where[found].setdefault(room_of(name), name)
    tree.finish([f"{found} is a type of {' and of '.join(sorted(rooms.values()))}: call one of them by what it is"
                 for found, rooms in sorted(where.items()) if len(rooms) > 1 and found not in ALLOWED]
                + [f"{found} is allowed and not needed" for found in ALLOWED if len(where[found]) < 2], checked)


main()
