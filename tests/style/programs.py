#!/usr/bin/env python3
"""tests/ranks/README.md has a line for each program there, the first sentence of what the program says of itself.
--write: writes it."""
import re
import sys

import tree

FOLDER = tree.ROOT / "tests/ranks"
PAGE = FOLDER / "README.md"
HEAD = """# Programs of ranks

Plain MPI in C++, run by `prun` as `meson.build` says: at which numbers of ranks, over which links, with which variables.
By hand: `build/launcher/prun/prun -np 3 build/tests/ranks/ranks_p2p`. Which tests there are for a chapter of the standard says
[testing.md](../../docs/testing.md). `check.h` is all that they share; a `.py` looks at a job from outside.

This page is written by `tests/style/programs.py --write`, of the first sentence of each file.

| file | what |
| --- | --- |
"""
COMMENT = re.compile(r"(?:// ?(.*)|/\* (.*) \*/)$")
DOCSTRING = re.compile(r'^"""(?:[^\n]*? -- )?(.*?)"""', re.S | re.M)
USAGE = re.compile(r"[\w.]+ [A-Z][A-Z_]* -- ")
SENTENCE = re.compile(r".*?\.(?=\s+[A-Z\"(]|$)", re.S)


def opening(path):
    """The first paragraph of what the file says of itself."""
    text = path.read_text()
    if path.suffix == ".py":
        found = DOCSTRING.search(text)
        return found.group(1).split("\n\n")[0].replace("\n", " ") if found else ""
    words = []
    for line in text.splitlines():
        found = COMMENT.match(line)
        if not found or not any(found.groups()):
            break
        words.append(found.group(1) or found.group(2))
    return " ".join(words)


def page():
    rows = []
    files = [path for path in tree.files(".cc", ".c", ".py", ".h") if path.parent == FOLDER]
    for path in [*files, FOLDER / "everywhere/everywhere.cc"]:
        sentence = SENTENCE.match(USAGE.sub("", opening(path), count=1))
        said = sentence.group(0).replace("|", "\\|") if sentence else ""
        rows.append((str(path.relative_to(FOLDER)), said[:1].upper() + said[1:]))
    return HEAD + "".join(f"| `{name}` | {text} |\n" for name, text in sorted(rows)), rows


def main():
    text, rows = page()
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text)
    problems = [f"tests/ranks/{name}: does not open with a sentence on what it is" for name, said in rows if not said]
    if not PAGE.exists() or PAGE.read_text() != text:
        problems.append("tests/ranks/README.md is not fresh: tests/style/programs.py --write")
    tree.finish(problems, len(rows))


main()
