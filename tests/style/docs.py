#!/usr/bin/env python3
"""Docs hold: links to files resolve, every room of lib and launcher has a short README, and the sources
that pages and comments name are there."""
import re

import tree

# Links in Markdown's form, and files named in code quotes beside a folder of ours.
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
NAMED = re.compile(r"`((?:lib|launcher|bindings|tests|benchmarks|docs|hostfiles|scripts)/[\w./-]+)`")

# Sources as pages and comments name them: `schedules.cc`, `line.{h,cc}`, `shm/lane.h`, (comm/duplication.cc).
QUOTED = re.compile(r"`([\w./-]+\.(?:cc|h|cu|py|\{[\w.,]+\}))`")
SPOKEN = re.compile(r"//.*?([\w/-]+\.(?:cc|cu))\b")

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
    for root in ("lib", "launcher"):
        for room in sorted(path for path in (tree.ROOT / root).iterdir() if path.is_dir()):
            readme = room / "README.md"
            if not readme.exists():
                problems.append(f"{tree.name(room)}: has no README.md")
            elif len(readme.read_text().splitlines()) > 40:
                problems.append(f"{tree.name(readme)}: over 40 lines")
    problems += [*decision_problems(), *source_problems()]
    tree.finish(problems, len(pages))


main()
