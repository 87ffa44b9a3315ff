"""docs/coverage.md: which functions have a body and which a test, by area, from the same table.

A function counts as tested when a program of ours calls it by name (comments do not count):
such a program checks what the call did. tests/style/coverage.py keeps the page fresh.
"""
import re

OPENING = """\
# Coverage of MPI %s

Written by `tests/style/coverage.py --write` from the interface table, the bodies and the programs
below `tests/`; a test keeps it fresh. Every function is exported with its `PMPI_` name; one without
a body raises `MPI_ERR_UNSUPPORTED_OPERATION` naming itself. *Tested*: a program of ours calls it.

| chapter | area | functions | work | tested | large counts | work | tested |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def names_in(paths):
    """MPI functions that programs call."""
    found = set()
    for path in paths:
        with open(path, errors="replace") as stream:
            code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", stream.read(), flags=re.S)
        found.update(name.removeprefix("P") for name in re.findall(r"\bP?MPI_\w+", code))
    return found


class Coverage:
    def __init__(self, table, bodies, programs):
        self.table, self.bodies, self.named = table, bodies, names_in(programs)

    def works(self, function, large):
        return function.body_name(large) in self.bodies

    def tested(self, function, large):
        return self.works(function, large) and function.c_name(large) in self.named

    def count_area(self, functions):
        row = []
        for large in (False, True):
            some = [f for f in functions if not large or f.has_large]
            row += [len(some), sum(self.works(f, large) for f in some),
                    sum(self.tested(f, large) for f in some)]
        return row

    def areas(self):
        groups = {}
        for function in self.table.functions:
            groups.setdefault((function.chapter, function.group), []).append(function)
        return sorted(groups.items())

    def listing(self, title, wanted):
        lines = ["\n## %s\n\n" % title]
        for (chapter, group), functions in self.areas():
            names = ["`%s`" % f.c_name(large) for f in functions for large in f.forms()
                     if wanted(f, large)]
            if names:
                lines.append("- **%s** (chapter %d): %s\n" % (group, chapter, ", ".join(names)))
        return lines if len(lines) > 1 else []


def write(table, bodies, programs):
    values = {c["name"]: c["value"] for c in table.constants}
    coverage = Coverage(table, bodies, programs)
    lines = [OPENING % ("%d.%d" % (values["MPI_VERSION"], values["MPI_SUBVERSION"]))]
    total = [0] * 6
    for (chapter, group), functions in coverage.areas():
        row = coverage.count_area(functions)
        total = [a + b for a, b in zip(total, row)]
        lines.append("| %d | %s | %s |\n" % (chapter, group, " | ".join(map(str, row))))
    lines.append("| | **all** | %s |\n" % " | ".join(map(str, total)))
    lines += coverage.listing("Not there yet", lambda f, large: not coverage.works(f, large))
    lines += coverage.listing("There, but no program of ours calls it",
                              lambda f, large: coverage.works(f, large)
                              and not coverage.tested(f, large))
    return "".join(lines)
