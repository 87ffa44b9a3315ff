#!/usr/bin/env python3
"""Markers: where a header groups declarations under the name of a source ("// data.cc"), that one defines them.

A group ends at a blank line, at another marker, and where its class does.
"""
import re

import tree

MARKER = re.compile(r"\s*// (\w+\.cc(?:, \w+\.cc)*)(?:[:;] .*)?$")
DECLARED = re.compile(r"\s*[\w:<>*&,\[\] ]*?[\w>&*\]] ?[*&]?\b(\w+)\((?!\*).*[^{}]$")
ENDS = re.compile(r"\s*(};|public:|protected:|private:)?$")


def declared(text):
    """(line, source, function) of what stands under a marker, but for what is defined there."""
    source, statement, depth, since = None, "", 0, 0
    for line, words in enumerate(text.splitlines(), 1):
        marker = MARKER.match(words)
        if marker or (not depth and not statement and ENDS.match(words)):
            source, statement, depth = marker and marker.group(1), "", 0
            continue
        code = words.split("//")[0].rstrip()
        if source is None or not code:
            continue
        since = since if statement else line
        statement += " " + code.strip()
        depth += code.count("{") - code.count("}")
        if depth == 0 and code[-1] in ";}":
            found = DECLARED.match(statement)
            if found and "{" not in statement:
                yield since, source, found.group(1)
            statement = ""


def main():
    problems, checked = [], 0
    for path in tree.files(".h"):
        for line, source, function in declared(path.read_text(errors="replace")):
            checked += 1
            homes = [path.parent / each for each in source.split(", ")]
            lost = [home.name for home in homes if not home.is_file()]
            if lost:
                problems.append(f"{tree.name(path)}:{line}: there is no {', '.join(lost)} beside it")
            elif not any(re.search(rf"^[\w\[][^;\n]*\b{function}\(", home.read_text(errors="replace"), re.M)
                         for home in homes):
                problems.append(f"{tree.name(path)}:{line}: {function} stands under {source}, which does not define it")
    tree.finish(problems, checked)


main()
