"""docs/coverage.md: which functions have a body and which a test, by area, from the same table.

A function counts as tested when a test fails if the function does nothing: tests/mutants knows
which. tests/style/coverage.py keeps the page fresh.
"""

OPENING = """\
# Coverage of MPI %s

Written by `tests/style/coverage.py --write` from the interface table, the bodies and what
`tests/mutants/run.py` found; a test keeps it fresh. Every function is exported with its `PMPI_`
name; one without a body raises `MPI_ERR_UNSUPPORTED_OPERATION` naming itself, or `MPI_ERR_WIN` and
`MPI_ERR_FILE` where it is given what is no window or file. Errors on files end no job: after one line
of warning they are returned, as `MPI_FILE_NULL`'s error handler says (MPI 5.0, 14.7). *Tested*: a
test fails when this function does nothing (`tests/mutants/killers.txt` says which).

| chapter | area | functions | work | tested | large counts | work | tested |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


class Coverage:
    def __init__(self, table, bodies, killers):
        self.table, self.bodies, self.killers = table, bodies, killers

    def works(self, function, large):
        return function.body_name(large) in self.bodies

    def tested(self, function, large):
        return self.works(function, large) and function.c_name(large) in self.killers

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


def write(table, bodies, killers, survivors):
    values = {c["name"]: c["value"] for c in table.constants}
    coverage = Coverage(table, bodies, killers)
    lines = [OPENING % ("%d.%d" % (values["MPI_VERSION"], values["MPI_SUBVERSION"]))]
    total = [0] * 6
    for (chapter, group), functions in coverage.areas():
        row = coverage.count_area(functions)
        total = [a + b for a, b in zip(total, row)]
        lines.append("| %d | %s | %s |\n" % (chapter, group, " | ".join(map(str, row))))
    lines.append("| | **all** | %s |\n" % " | ".join(map(str, total)))
    lines += coverage.listing("Not there yet", lambda f, large: not coverage.works(f, large))
    lines += coverage.listing("There, but no test fails without it",
                              lambda f, large: coverage.works(f, large)
                              and not coverage.tested(f, large))
    lines += ["\nWhy: `%s`: %s.\n" % pair for pair in sorted(survivors.items())]
    return "".join(lines)
