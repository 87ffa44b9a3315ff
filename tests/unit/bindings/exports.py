#!/usr/bin/env python3
"""exports.py API_FOLDER LIBRARY -- the library exports every name of the table and no other."""
import json
import os
import subprocess
import sys


def wanted(folder):
    with open(os.path.join(folder, "api.json")) as stream:
        functions = json.load(stream)["functions"]
    for function in functions:
        if not function["in_abi"]:
            continue
        for suffix in ("", "_c") if function["has_large_count"] else ("",):
            yield function["name"] + suffix, "W"
            yield "P" + function["name"] + suffix, "T"
    sys.path.insert(0, os.path.join(folder, "..", "gen"))
    import names
    for name in names.EXTENSIONS:
        yield name, "T"


def main():
    listing = subprocess.run(["nm", "-D", "--defined-only", sys.argv[2]], check=True,
                             capture_output=True, text=True).stdout
    found = {line.split()[-1].split("@")[0]: line.split()[-2] for line in listing.splitlines()}
    table = dict(wanted(sys.argv[1]))
    for name in sorted(set(table) | set(found)):
        if table.get(name) != found.get(name):
            print(f"{name}: wanted {table.get(name)}, found {found.get(name)}")
    print(f"{len(table)} names wanted, {len(found)} found")
    sys.exit(table != found)


if __name__ == "__main__":
    main()
