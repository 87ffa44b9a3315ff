#!/usr/bin/env python3
"""Docs hold: links to files resolve, and every room of lib and launcher has a short README."""
import re

import tree

LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def main():
    problems = []
    pages = tree.files(".md")
    for page in pages:
        for target, _ in LINK.findall(page.read_text(errors="replace")):
            if "://" in target or target.startswith("mailto:"):
                continue
            if not (page.parent / target).exists():
                problems.append(f"{tree.name(page)}: link to {target}, which is not there")
    for root in ("lib", "launcher"):
        for room in sorted(path for path in (tree.ROOT / root).iterdir() if path.is_dir()):
            readme = room / "README.md"
            if not readme.exists():
                problems.append(f"{tree.name(room)}: has no README.md")
            elif len(readme.read_text().splitlines()) > 40:
                problems.append(f"{tree.name(readme)}: over 40 lines")
    for record in (tree.ROOT / "docs/decisions").glob("*.md"):
        if len(record.read_text().splitlines()) > 60:
            problems.append(f"{tree.name(record)}: a decision record has at most 60 lines")
    tree.finish(problems, len(pages))


main()
