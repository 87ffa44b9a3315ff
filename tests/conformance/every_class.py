#!/usr/bin/env python3
"""every_class.py SOURCE ARGUMENTS -- each error class that message passing can meet is raised.

error_classes.txt names for each class of the standard (bindings/mpi/api/constants.json) a program
in which a call's class is compared with it, or says why none can raise it. Those of later
chapters, windows, files and process creation, are left out by name but those of bad handles. ARGUMENTS: the generated
program of bad arguments.
"""
import json
import pathlib
import re
import sys

# Of chapters 11 (process creation), 12 and 14; the last is no class.
LATER = re.compile(r"MPI_ERR_(ACCESS|AMODE|ASSERT|BAD_FILE|BASE|DISP|DUP_DATAREP|FILE_.*|IO|LOCKTYPE"
                   r"|NAME|NOT_SAME|NO_SPACE|NO_SUCH_FILE|PORT|QUOTA|READ_ONLY|RMA_.*|SERVICE|SIZE"
                   r"|SPAWN|LASTCODE)|MPI_SUCCESS")


def classes(source):
    rows = json.loads((source / "bindings/mpi/api/constants.json").read_text())
    rows = rows if isinstance(rows, list) else rows["constants"]
    return {row["name"] for row in rows if row["category"] == "error_classes"
            and not LATER.fullmatch(row["name"])}


def table(path):
    rows = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, rest = line.split(None, 1)
            rows[name] = rest
    return rows


def compares(text, name):
    """The class is what a call's result must be: CHECK(... name ...), or an argument's probe."""
    return re.search(rf"(CHECK|probe|passes_on)\((?:(?!;\n).)*\b{name}\b", text, re.S) is not None


def wrong_with(name, rest, source, arguments):
    if rest.startswith("-"):
        return None if len(rest) > 10 else "no reason is given"
    for program in rest.split():
        path = arguments if program == "arguments" else \
            source / "tests" / ("" if program.startswith("ranks/") else "conformance") / f"{program}.cc"
        if not path.exists():
            return f"there is no {path}"
        if not compares(path.read_text(), name):
            return f"{program} does not compare anything with it"
    return None


def main():
    source, arguments = map(pathlib.Path, sys.argv[1:])
    rows, wanted = table(source / "tests/conformance/error_classes.txt"), classes(source)
    wrong = [f"{name}: no program in tests/conformance/error_classes.txt" for name in sorted(wanted - set(rows))]
    wrong += [f"{name}: not a class of message passing" for name in sorted(set(rows) - wanted)]
    for name in sorted(wanted & set(rows)):
        problem = wrong_with(name, rows[name], source, arguments)
        if problem:
            wrong.append(f"{name}: {problem}")
    print("\n".join(wrong))
    print(f"{len(wanted)} error classes, {sum(not row.startswith('-') for row in rows.values())} raised by programs")
    sys.exit(1 if wrong or len(wanted) < 40 else 0)


if __name__ == "__main__":
    main()
