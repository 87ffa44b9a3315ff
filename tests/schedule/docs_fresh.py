#!/usr/bin/env python3
"""docs/algorithms.md holds the catalogue as collview prints it.

usage: docs_fresh.py COLLVIEW [--write]
"""
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "algorithms.md"
BEGIN, END = "<!-- catalogue -->\n", "<!-- end of catalogue -->"


def main():
    table = subprocess.run([sys.argv[1], "list", "--markdown"], check=True, capture_output=True,
                           text=True).stdout
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    fresh = head + BEGIN + table + END + tail
    if "--write" in sys.argv[2:]:
        PAGE.write_text(fresh)
    elif fresh != page:
        sys.exit("docs/algorithms.md is not what the catalogue says; run tests/schedule/docs_fresh.py "
                 "COLLVIEW --write")


main()
