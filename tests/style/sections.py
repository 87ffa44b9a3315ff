#!/usr/bin/env python3
"""Where a header says which source its functions stand in, they stand there: a line `// linger.cc` (or
`// linger.cc: what they do`) is about the declarations below it, up to an empty line or the next such line;
`// linger.cc` behind a declaration is about that one."""
import re

import scan
import tree

SOURCE = r"[\w/]+\.(?:cc|cu)"
MARKER = re.compile(rf"\s*// ({SOURCE}(?:, {SOURCE})*)(?:[:;].*)?$")
BEHIND = re.compile(rf"(?P<declared>[^/]*;)\s+// (?P<sources>{SOURCE})(?:[:;].*)?$")
DECLARED = re.compile(r"([~\w]+)\([^;{}]*\)[\w\s]*(?:= 0)?;", re.S)
INLINE = re.compile(r"[^;{}]*\{[^{}]*\}")  # a function's head and body, a type's


def declared_in(text):
    """Names of the functions that are only declared here."""
    text, before = scan.blank(text), None
    while text != before:
        text, before = INLINE.sub("", text), text
    return [name for name in DECLARED.findall(text) if name != "static_assert"]


def sections(lines):
    """(line number, named sources, declarations)."""
    open_section = None
    for number, line in enumerate(lines, 1):
        behind = BEHIND.match(line)
        marker = MARKER.match(line)
        if behind:
            yield number, behind["sources"], behind["declared"]
            continue
        if open_section and (marker or not line.strip()):
            yield open_section[0], open_section[1], "\n".join(open_section[2])
            open_section = None
        if marker:
            open_section = number, marker.group(1), []
        elif open_section:
            open_section[2].append(line)


def functions_of(header, named):
    """Names of the functions in these sources, which lie in the header's folder or beside it."""
    names, missing = set(), []
    for source in named.split(", "):
        near = [folder / source for folder in (header.parent, *header.parents[:2])]
        found = next((path for path in near if path.is_file()), None)
        if found is None:
            missing.append(source)
        else:
            names |= {one.name.rpartition("::")[2] for one in scan.functions(found.read_text())}
    return names, missing


def main():
    problems, checked = [], 0
    for header in tree.files(".h"):
        for line, named, text in sections(header.read_text(errors="replace").splitlines()):
            checked += 1
            names, missing = functions_of(header, named)
            problems += [f"{tree.name(header)}:{line}: names {source}, which is not there" for source in missing]
            problems += [f"{tree.name(header)}:{line}: {name} does not stand in {named}"
                         for name in declared_in(text) if name not in names and not missing]
    tree.finish(problems, checked)


main()
