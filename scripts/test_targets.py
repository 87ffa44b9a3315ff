#!/usr/bin/env python3
"""test_targets.py DIRECTORY SUITES [NAME...]: the files that ninja has to build for these tests, for --build-only.

SUITES: names, separated by commas; no NAME: all tests of these suites.
"""
import json
import os
import subprocess
import sys


def ask(what, directory):
    return json.loads(subprocess.run(["meson", "introspect", what, directory], check=True,
                                     capture_output=True, text=True).stdout)


def main():
    directory, suites, names = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
    files = {target["id"]: target["filename"] for target in ask("--targets", directory)}
    found = set()
    for test in ask("--tests", directory):
        if not any(suite.split(":")[-1] in suites for suite in test["suite"]):
            continue
        if not names or test["name"] in names:
            found.update(file for target in test["depends"] for file in files[target])
    if not found:
        sys.exit(f"test_targets.py: no such tests in {directory}: {' '.join(sys.argv[2:])}")
    print("\n".join(os.path.relpath(file, os.path.realpath(directory)) for file in sorted(found)))


main()
