#!/usr/bin/env python3
"""Docs hold: links to files resolve, every room has a short README that names its sources, and the sources
that pages and comments name are there; prose keeps to its columns."""
import fnmatch
import re

import tree

# Links in Markdown's form, and files named in code quotes beside a folder of ours.
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
NAMED = re.compile(r"`((?:lib|launcher|bindings|tests|benchmarks|docs|hostfiles|scripts)/[\w./-]+)`")

# Sources as pages and comments name them: `schedules.cc`, `line.{h,cc}`, `shm/lane.h`, (comm/duplication.cc).
QUOTED = re.compile(r"`([\w./-]+\.(?:cc|h|cu|py|\{[\w.,]+\}))`")
# In a room's README also `waiter.*`, `gpu_*.cc`, and `shm/` for all of a folder, `<collective>/` of any.
ANY_END = re.compile(r"`([\w*]+)\.(?:\*|cc|h|\{h,cc\})`")
FOLDER = re.compile(r"`(<\w+>|\w+)/")
SPOKEN = re.compile(r"//.*?([\w/-]+\.(?:cc|cu))\b")

COLUMNS = 120
WRITTEN = {"mpi.h", "bodies.h"}  # by the generator


def sources_of(name):
    """`line.{h,cc}` is line.h and line.cc."""
    stem, brace, endings = name.partition("{")
    return [stem + ending for ending in endings.rstrip("}").split(",")] if brace else [name]


def source_problems():
    """Pages of rooms, and comments, name sources by their path's end. Decision records tell what was."""
    paths = [tree.name(path) for path in tree.files(".cc", ".h", ".cu", ".py", ".h.in", ".json")]
    ends = {"/".join(parts[at:]) for parts in (path.split("/") for path in paths) for at in range(len(parts))}
    ends |= {end.removesuffix(".in") for end in ends} | WRITTEN
    for page in tree.files(".md", ".cc", ".h"):
        name = tree.name(page)
        if name.startswith("docs/decisions/"):
            continue
        told = QUOTED if name.endswith(".md") else SPOKEN
        for found in told.findall(page.read_text(errors="replace")):
            for source in sources_of(found):
                if source.removeprefix("./") not in ends:
                    yield f"{name}: names {source}, which is not there"


def rooms():
    """Folders of lib and launcher, and those inside of them that have a README of their own."""
    for root in ("lib", "launcher"):
        yield from sorted(path for path in (tree.ROOT / root).iterdir() if path.is_dir())
        yield from sorted(path.parent for path in (tree.ROOT / root).glob("*/*/**/README.md"))
    yield tree.ROOT / "bindings/mpi"


def room_problems():
    """A room's README names each of its sources, by its stem or its folder, and as its own none that it has not."""
    for room in rooms():
        readme = room / "README.md"
        if not readme.exists():
            yield f"{tree.name(room)}: has no README.md"
            continue
        text = readme.read_text()
        if len(text.splitlines()) > 40:
            yield f"{tree.name(readme)}: over 40 lines"
        own = [path.relative_to(room) for path in tree.files(".cc", ".h", ".cu") if path.is_relative_to(room)]
        quoted = [source for found in QUOTED.findall(text) for source in sources_of(found)]
        # The door has the room's name, and a program's main its own.
        stems = {room.name, "main", *ANY_END.findall(text), *(source.rpartition(".")[0] for source in quoted)}
        folders = {"*" if name[0] == "<" else name for name in FOLDER.findall(text)}
        for path in own:
            in_folder = len(path.parts) > 1 and any(fnmatch.fnmatch(path.parts[0], name) for name in folders)
            if not in_folder and not any(fnmatch.fnmatch(path.stem, stem) for stem in stems):
                yield f"{tree.name(readme)}: does not name {path}"
        names = {path.name for path in own} | WRITTEN
        for source in quoted:
            if "/" not in source and not source.endswith(".py") and source not in names:
                yield f"{tree.name(readme)}: names {source}, which is not in this room"


def decision_problems():
    """Each record has a number of its own, a title that says it, and at most 60 lines."""
    seen = {}
    for record in sorted((tree.ROOT / "docs/decisions").glob("*.md")):
        lines = record.read_text().splitlines()
        number = record.name[:4]
        if len(lines) > 60:
            yield f"{tree.name(record)}: a decision record has at most 60 lines"
        if not lines or not lines[0].startswith(f"# {number}: "):
            yield f"{tree.name(record)}: its title starts '# {number}: '"
        if number in seen:
            yield f"{tree.name(record)}: number {number} is taken by {seen[number]}"
        seen[number] = record.name


def width_problems():
    """Prose of the pages keeps to so many columns; tables, code, and pages that scripts write (coverage, env) need more."""
    for page in [*sorted((tree.ROOT / "docs").glob("*.md")), tree.ROOT / "CONTRIBUTING.md"]:
        if page.stem in ("coverage", "env"):
            continue
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if len(line) > COLUMNS and not line.startswith(("|", "    ")):
                yield f"{tree.name(page)}:{number}: {len(line)} columns, of {COLUMNS}"


def main():
    problems = []
    pages = tree.files(".md")
    for page in pages:
        for target, _ in LINK.findall(page.read_text(errors="replace")):
            if "://" in target or target.startswith("mailto:"):
                continue
            if not (page.parent / target).exists():
                problems.append(f"{tree.name(page)}: link to {target}, which is not there")
        for target in NAMED.findall(page.read_text(errors="replace")):
            if not (tree.ROOT / target.rstrip("/")).exists():
                problems.append(f"{tree.name(page)}: names {target}, which is not there")
    problems += [*room_problems(), *decision_problems(), *source_problems(), *width_problems()]
    tree.finish(problems, len(pages))


main()
