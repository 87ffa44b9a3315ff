#!/usr/bin/env python3
"""No two types of one name, so that a name in a comment, a question or a search means one thing: what a
header defines at the level of namespaces has its name for itself, among all headers and all sources;
what a source defines for itself has it among the sources of its room. Types inside of others are named
by those, but not as a type of their own room; aliases name what is defined elsewhere."""
import collections
import re

import tree

TYPE = re.compile(r"^([ \t]*)(?:template <[^{};]*> )?(?:class|struct|union|enum(?: class| struct)?) "
                  r"(?:alignas\([^)]*\) |\[\[[\w:]+\]\] )?(\w+)(?: final)?(?: : [^{;]*)?\s*\{", re.M)


def room_of(name):
    parts = name.split("/")
    return parts[0] if parts[0] == "bindings" else "/".join(parts[:2])


class Types:
    """Where the types of one name are defined."""

    def __init__(self):
        self.headers, self.sources, self.inner = set(), set(), set()

    def add(self, name, indent):
        (self.inner if indent else self.headers if name.endswith(".h") else self.sources).add(name)

    def clashes(self):
        if self.headers and len(self.headers | self.sources) > 1:
            yield self.headers | self.sources
        for room in {room_of(name) for name in self.headers | self.sources}:
            own = {name for name in self.headers | self.sources | self.inner if room_of(name) == room}
            if len(own) > 1:
                yield own


def main():
    found, checked = collections.defaultdict(Types), 0
    for path in tree.files(".h", ".cc"):
        name = tree.name(path)
        if not name.startswith(("lib/", "launcher/", "bindings/mpi/")):
            continue
        checked += 1
        for indent, kind in TYPE.findall(path.read_text(errors="replace")):
            found[kind].add(name, indent)
    tree.finish([f"{kind} is a type of {' and of '.join(sorted(where))}: call one of them by what it is"
                 for kind, types in sorted(found.items()) for where in types.clashes()], checked)


main()
