#!/usr/bin/env python3
"""No two types of one name, so that a name in a comment, a question or a search means one thing: what a
header defines at the level of namespaces has its name for itself, among all headers and all sources;
what a source defines for itself has it among the sources of its room. Types inside of others are named
by those, but not as a type of their own room; aliases name what is defined elsewhere. So have functions (of
the same parameters) and constants that sources of one room keep for themselves: sanitized builds compile several
sources as one."""
import collections
import re

import tree

TYPE = re.compile(r"^([ \t]*)(?:template <[^{};]*> )?(?:class|struct|union|enum(?: class| struct)?) "
                  r"(?:alignas\([^)]*\) |\[\[[\w:]+\]\] )?(\w+)(?: final)?(?: : [^{;]*)?\s*\{", re.M)

OWN = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.M | re.S)
FUNCTION = re.compile(r"^(?!(?:return|namespace|struct|class|using|enum|typedef|static_assert|extern|template)\b)"
                      r"(?:\[\[\w+\]\] )?[A-Za-z][\w:<>&*, ]*[ &*](\w+)\(((?:[^(){};]|\([^()]*\))*)\)(?: noexcept)? \{",
                      re.M)
CONSTANT = re.compile(r"^(?:inline |static |thread_local )*(?:constexpr|const|std::atomic)\b[^(={;]*\b(\w+)"
                      r"(?: =|\{|;|\[)", re.M)
COMMENT = re.compile(r"/\*.*?\*/")
PARAMETER = re.compile(r"(?<=[\s&*>])\w+(\[\])?$")


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


def types_of(parameters):
    """`int a, const Text& b`: the types alone, by which functions of one name differ."""
    words = (COMMENT.sub("", word).strip() for word in re.split(r",(?![^<]*>)", parameters))
    return ", ".join(" ".join(PARAMETER.sub("", word).split()) for word in words)


def own_names(text):
    """Functions and constants that a source keeps for itself."""
    for part in OWN.findall(text):
        yield from (f"{function}({types_of(parameters)})" for function, parameters in FUNCTION.findall(part))
        yield from CONSTANT.findall(part)


def main():
    found, checked = collections.defaultdict(Types), 0
    own = collections.defaultdict(set)
    for path in tree.files(".h", ".cc"):
        name = tree.name(path)
        if not name.startswith(("lib/", "launcher/", "bindings/mpi/")):
            continue
        checked += 1
        text = path.read_text(errors="replace")
        for indent, kind in TYPE.findall(text):
            found[kind].add(name, indent)
        if name.endswith(".cc"):
            for word in own_names(text):
                own[room_of(name), word].add(name)
    problems = [f"{word} stands in {' and in '.join(sorted(where))}: call one of them by what it is, or share it"
                for (_, word), where in sorted(own.items()) if len(where) > 1]
    tree.finish(problems + [f"{kind} is a type of {' and of '.join(sorted(where))}: call one of them by what it is"
                 for kind, types in sorted(found.items()) for where in types.clashes()], checked)


main()
