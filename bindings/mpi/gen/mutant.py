"""A library to preload in which one function does nothing: the one that the environment names.

It returns MPI_SUCCESS (or zero) at once and leaves its results untouched; all others pass on to
their profiling names. tests/mutants asks which programs notice.
"""
from table import prototype
from wrappers import EXPORTED

OPENING = """\
// One function that does nothing, by its name in MUTANT. Generated; do not edit.
#include "mutant.h"

"""


def wrapper(function, large):
    arguments = ", ".join(p.name for p in function.visible(large))
    return EXPORTED + '%s {\n  static const bool broken = is_mutant("%s");\n' \
        "  if (broken) return {};\n  return %s(%s);\n}\n" % (
            prototype(function, large), function.c_name(large), function.c_name(large, True),
            arguments)


def write(table, bodies):
    parts = [OPENING]
    for function in table.functions:
        if function.first(lambda p: p.kind == "VARARGS"):
            continue  # cannot be passed on
        parts += [wrapper(function, large) for large in function.forms()
                  if function.body_name(large) in bodies]
    return "\n".join(parts)
