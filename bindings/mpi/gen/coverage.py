"""docs/coverage.md: which functions have a body, by area, from the same table."""

OPENING = """\
# Coverage of MPI %s

Generated from the interface table and the bodies. Every function is exported with its `PMPI_`
name; one without a body raises `MPI_ERR_UNSUPPORTED_OPERATION` naming itself.

| chapter | area | functions | work | large counts | work |
| --- | --- | --- | --- | --- | --- |
"""


def count_area(functions, bodies):
    small = [f for f in functions]
    large = [f for f in functions if f.has_large]
    works = [f for f in small if f.body_name(False) in bodies]
    works_large = [f for f in large if f.body_name(True) in bodies]
    return len(small), len(works), len(large), len(works_large)


def areas(table):
    groups = {}
    for function in table.functions:
        groups.setdefault((function.chapter, function.group), []).append(function)
    return sorted(groups.items())


def write(table, bodies):
    values = {c["name"]: c["value"] for c in table.constants}
    version = "%d.%d" % (values["MPI_VERSION"], values["MPI_SUBVERSION"])
    lines, total = [OPENING % version], [0, 0, 0, 0]
    for (chapter, group), functions in areas(table):
        row = count_area(functions, bodies)
        total = [a + b for a, b in zip(total, row)]
        lines.append("| %d | %s | %d | %d | %d | %d |\n" % ((chapter, group) + row))
    lines.append("| | **all** | %d | %d | %d | %d |\n" % tuple(total))
    lines.append("\n## Not there yet\n\n")
    for (chapter, group), functions in areas(table):
        missing = ["`%s`" % f.name for f in functions if f.body_name(False) not in bodies]
        if missing:
            lines.append("- **%s** (chapter %d): %s\n" % (group, chapter, ", ".join(missing)))
    return "".join(lines)
