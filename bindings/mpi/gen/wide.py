"""A library to preload that turns every call of a small count form into one of its large form.

With it the programs that prove the small forms prove the large ones, on the same numbers. Left
out: what makes datatypes (a large type is told apart by its envelope) and pairs of forms that
differ in more than widths; both have programs of their own.
"""
from table import prototype
from wrappers import EXPORTED, Writer

OPENING = """\
// Small count forms by way of the large ones. Generated from the interface table; do not edit.
#include "wide.h"

using namespace wide;

"""


class Widener(Writer):
    """One small form that calls its large one."""

    def narrow_outs(self):
        return [p for p in self.params if p.is_pointer_out and p.small_type != p.large_type]

    def is_wide_array(self, p):
        return p.is_count_array and p.small_type != p.large_type

    def argument(self, p):
        if self.is_wide_array(p):
            return "%s_wide.data()" % p.name
        if p in self.narrow_outs():
            return "%s == nullptr ? nullptr : &%s_wide" % (p.name, p.name)
        return p.name

    def lines(self):
        yield EXPORTED + "%s {" % prototype(self.f)
        arrays = [p for p in self.params if self.is_wide_array(p)]
        if arrays:
            comm = self.f.communicator.name
            yield "  const Shape shape(%s);" % comm
            yield "  const Shape* const %s_object = &shape;" % comm
        for p in arrays:
            absent = self.absent(p)
            length = self.length_of(p)
            yield "  const Array<%s> %s_wide(%s, %s);" % (
                p.large_type.removeprefix("const ").removesuffix(" []"), p.name, p.name,
                "(%s) ? 0 : %s" % (absent, length) if absent else length)
        for p in self.narrow_outs():
            first = "%s == nullptr ? 0 : *%s" % (p.name, p.name) if p.direction == "inout" else "0"
            yield "  %s %s_wide = %s;" % (p.large_type.removesuffix(" *"), p.name, first)
        yield "  const int code = %s(%s);" % (self.f.c_name(True),
                                              ", ".join(map(self.argument, self.params)))
        for p in self.narrow_outs():
            yield "  if (code == MPI_SUCCESS) narrow(%s_wide, %s);" % (p.name, p.name)
        yield "  return code;"
        yield "}"


def can_widen(function):
    makes_type = function.first(lambda p: p.kind == "DATATYPE" and p.direction == "out")
    return function.has_large and not function.own_large_body and makes_type is None


def write(table, bodies):
    parts = [OPENING]
    for function in table.functions:
        if can_widen(function) and function.body_name(True) in bodies:
            parts += list(Widener(function, False).lines()) + [""]
    return "\n".join(parts)
