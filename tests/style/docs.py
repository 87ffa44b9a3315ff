#!/usr/bin/env python3
"""Docs hold: links to files resolve, and every room of lib and launcher has a short README."""
import re

import tree

# Links in Markdown's form, and files named in code quotes beside a folder of ours.
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
NAMED = re.compile(r"`((?:lib|launcher|bindings|tests|benchmarks|docs|hostfiles|scripts)/[\w./-]+)`")


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
    problems += decision_problems()
    tree.finish(problems, len(pages))


main()
