"""The C++ entry points: state and argument checks, 64-bit counts, then the body.

For each function: `CallScope` (initialised? gate, watch record), handles to objects, one chain of
checks, the body, narrowing of results, and the error handler when the body says so, or when memory
ran out on the way: no exception of ours leaves an entry point. A function
without a body raises MPI_ERR_UNSUPPORTED_OPERATION by name, or says first that a handle is bad.
MPI_X is weak over strong PMPI_X.
"""
import re

from checks import Checks
from table import OBJECTS, UNMADE, declare, prototype

EXPORTED = 'extern "C" __attribute__((visibility("default"))) '
FILE_OPENING = """\
// Entry points of MPI chapter %d. Generated from the interface table; do not edit.
#include "bodies.h"
#include "functions.h"
#include "mpi/overlap.h"
#include "mpi/call.h"
#include "mpi/checks.h"
#include "mpi/errors.h"
#include "mpi/widen.h"

namespace tutti::mpi {
"""
BODIES_OPENING = """\
// What every hand-written body looks like. Generated from the interface table; do not edit.
#pragma once

#include <span>

#include "mpi.h"
#include "mpi/objects.h"

namespace tutti::mpi::body {
"""
# Of a call on a communicator; all else may be absent on some ranks.
ALWAYS_SIGNIFICANT = ("COMMUNICATOR", "RANK", "INFO", "REQUEST")


class Writer(Checks):
    """Writes one entry point in one form (small or large counts)."""

    def __init__(self, function, large):
        self.f = function
        self.large = large
        self.params = function.visible(large)
        self.owners = self.find_owners()

    def find_owners(self):
        """Counts, displacements and types belong to the last buffer before them."""
        owners, last = {}, None
        for p in self.params:
            if p.kind == "BUFFER":
                last = p
            owners[p.name] = last
        return owners

    # --- what the body sees

    def as_pointer(self, p):
        return p.may_be_null_handle or p.unchecked or bool(self.absent(p))

    def body_type(self, p):
        if p.is_object:
            return OBJECTS[p.kind][0] + ("*" if self.as_pointer(p) else "&")
        if p.is_count_array:
            return "std::span<const Count>"
        c_type = p.c_type(True)
        if p.kind == "POLYFUNCTION":
            c_type = p.c_type(self.large)
        if p.kind.startswith("POLY") and p.kind != "POLYFUNCTION":
            return "Count*" if c_type.endswith("*") else "Count"
        return c_type

    def body_declaration(self):
        seen = self.body_type if self.f.reports_errors else lambda p: p.c_type(self.large)
        args = [declare(seen(p), p.name) for p in self.params if p.kind != "VARARGS"]
        returns = "Code" if self.f.reports_errors else self.f.returns
        return "%s %s(%s);" % (returns, self.f.body_name(self.large), ", ".join(args))

    # --- conversions before the checks and after them

    def objects(self):
        for p in self.params:
            if p.is_object:
                kind, convert, _ = OBJECTS[p.kind]
                const = "" if self.moves_nothing(p) else " const"
                yield "  %s*%s %s_object = %s(%s);" % (kind, const, p.name, convert, p.name)
                if self.moves_nothing(p):
                    yield "  if (%s_object == nullptr) [[unlikely]]" % p.name
                    yield "    %s_object = nothing_for(%s, %s);" % (p.name, p.name, self.moves_nothing(p))

    def length_of(self, p):
        return self.length_in(p.length)

    def length_in(self, length):
        lengths = {"size(comm)": "%s_object->size()", "nproc(comm)": "%s_object->peers().size()",
                   "indegree(comm)": "indegree_of(*%s_object)",
                   "outdegree(comm)": "outdegree_of(*%s_object)"}
        if length in lengths:
            return lengths[length] % self.f.communicator.name
        if re.fullmatch(r"\w+(,3)?", length):
            return length.split(",")[0]
        raise SystemExit("%s: no rule for the length %s" % (self.f.name, length))

    def absent(self, p):
        """C++ text: this parameter is not significant in this call; empty if it always is.

        What is absent is neither checked nor passed on: it may be anything.
        """
        if self.f.communicator is None or p.kind in ALWAYS_SIGNIFICANT:
            return ""
        tests = []
        owner = self.owners[p.name]
        if p.root_only:
            tests.append("!%s" % self.at_root())
        elif self.f.root:
            tests.append("%s(%s_object, %s)" % (
                "is_idle_or_root" if self.belongs_to_others(p, owner) else "is_idle",
                self.f.communicator.name, self.f.root.name))
        if p.kind != "BUFFER" and owner is not None and "MPI_IN_PLACE" in owner.accepts:
            tests.append("is_in_place(%s)" % owner.name)
        return " || ".join(tests)

    def belongs_to_others(self, p, owner):
        """Between two groups the root has no such side: only the other group's ranks look at it."""
        buffer = p if p.kind == "BUFFER" else owner
        return buffer is not None and not buffer.root_only \
            and any(q.kind == "BUFFER" and q.root_only for q in self.params)

    def at_root(self):
        return "is_root(%s_object, %s)" % (self.f.communicator.name, self.f.root.name)

    def spans(self):
        for p in self.params:
            if p.is_count_array:
                yield "  const WidenedCounts %s_wide(%s, %s);" % (
                    p.name, p.name, self.if_present(p, self.length_of(p), "0"))

    def is_narrow_out(self, p):
        return p.is_pointer_out and p.kind.startswith("POLY") and not self.large and p.is_narrow

    def narrow_locals(self):
        for p in self.params:
            if self.is_narrow_out(p):
                first = "*" + p.name if p.direction == "inout" else "0"
                yield "  Count %s_wide = %s;" % (p.name, first)

    def if_present(self, p, value, nothing):
        absent = self.absent(p)
        return "(%s) ? %s : %s" % (absent, nothing, value) if absent else value

    def body_argument(self, p):
        if p.is_object:
            as_object = ("" if self.as_pointer(p) else "*") + p.name + "_object"
            return self.if_present(p, as_object, "nullptr")
        if p.is_count_array:
            return p.name + "_wide.span()"
        if self.is_narrow_out(p):
            return "&%s_wide" % p.name
        return self.if_present(p, p.name, "nullptr" if p.kind == "BUFFER" or p.is_array else "0")

    # --- the text

    def signature(self, named):
        text = prototype(self.f, self.large, True)
        if named:
            return text
        kept = self.handles_without_objects() + self.handles_made() + [self.raised_on()]
        args = []
        for p in self.params:
            args.append(declare(p.c_type(self.large), p.name if p in kept else "")
                        if p.kind != "VARARGS" else "...")
        name = self.f.c_name(self.large, True)
        return "%s %s(%s)" % (self.f.returns, name, ", ".join(a.strip() for a in args))

    def alias(self):
        name = self.f.c_name(self.large)
        return EXPORTED + '__attribute__((weak, alias("P%s"))) %s;' % (
            name, prototype(self.f, self.large))

    def opening(self):
        when = "CallScope::anytime" if self.f.anytime else "CallScope::inside"
        return "  CallScope call(function::%s, %s);" % (self.f.name[4:], when)

    def handles_without_objects(self):
        """Handles of kinds that nothing makes yet, or pointers to one."""
        return [p for p in self.params if p.kind in UNMADE and p.direction != "out"]

    def handles_made(self):
        return [p for p in self.params
                if p.kind in (*OBJECTS, "REQUEST") and p.is_pointer_out and p.direction == "out"]

    def raised_on(self):
        return None if self.f.is_on_files else self.f.communicator

    def refusals(self):
        """No such handle is good."""
        for p in self.handles_without_objects():
            by = "_by(file_errhandler())" if self.f.is_on_files else "(nullptr)"
            there = "" if p.is_object else 'good_pointer(%s, "%s") && ' % (p.name, p.name)
            found = "%s(%s%s)" % (OBJECTS[p.kind][1], there and "*", p.name)
            good = there + self.object_is_good(p, found, '"%s"' % p.name)
            yield "  if (call.allowed() && call.checks() && !(%s)) return call.refuse%s;" % (good, by)

    def unsupported(self):
        comm = "comm_of(%s)" % self.raised_on().name if self.raised_on() else "nullptr"
        raised = "_on_files()" if self.f.is_on_files else "(%s)" % comm
        yield EXPORTED + "%s {" % self.signature(False)
        if not self.f.is_silent:
            yield self.opening()
        if self.f.is_silent:
            yield "  return MPI_T_ERR_NOT_SUPPORTED;"
        elif self.f.reports_errors:
            for p in self.handles_made():
                yield "  if (%s != nullptr) *%s = %s;" % (p.name, p.name, p.null)
            yield from self.refusals()
            yield "  return call.unsupported%s;" % raised
        else:
            yield "  call.unsupported(%s);" % comm
            yield "  return {};"
        yield "}"

    def direct(self):
        yield EXPORTED + "%s {" % self.signature(True)
        body = "return body::%s(%s);" % (self.f.body_name(self.large),
                                         ", ".join(p.name for p in self.params))
        if not self.f.is_silent:
            yield "  " + body
        else:
            yield self.opening()
            yield "  try {"
            yield "    " + body
            yield "  } catch (...) {"
            yield "    thrown();"
            yield "    return MPI_T_ERR_MEMORY;"
            yield "  }"
        yield "}"

    def full(self):
        on, whose = "", "nullptr"
        if self.f.is_on_files:
            on, whose = "_by", "file_errhandler()"
        elif self.f.communicator:
            whose = self.f.communicator.name + "_object"
        elif self.f.session:
            on, whose = "_session", self.f.session.name + "_object"
        elif any(p.kind == "ERRHANDLER" and p.direction == "in" for p in self.params):
            on, whose = "_by", "errhandler_object"  # for what the call makes
        yield EXPORTED + "%s {" % self.signature(True)
        yield self.opening()
        yield "  if (!call.allowed()) [[unlikely]] return call.refuse(nullptr);"
        yield from self.objects()
        yield "  try {"
        for line in self.guarded(on, whose):
            yield "  " + line
        yield "  } catch (...) {"
        yield "    return call.fail%s(thrown(), %s);" % (on, whose)
        yield "  }"
        yield "}"

    def guarded(self, on, whose):
        """What may run out of memory."""
        checks = list(self.checks())
        if checks:
            yield "  if (call.checks() &&"
            yield "      !(%s)) [[unlikely]]" % (" &&\n        ".join(checks))
            yield "    return call.refuse%s(%s);" % (on, whose)
        yield from self.spans()
        yield from self.narrow_locals()
        args = ", ".join(self.body_argument(p) for p in self.params if p.kind != "VARARGS")
        yield "  const Code code = body::%s(%s);" % (self.f.body_name(self.large), args)
        yield "  if (code != Code::ok) [[unlikely]] return call.fail%s(code, %s);" % (
            on, whose)
        for p in self.params:
            if self.is_narrow_out(p):
                yield "  *%s = narrow(%s_wide);" % (p.name, p.name)
            if self.large and p.kind == "DATATYPE" and p.is_pointer_out and p.direction == "out":
                yield "  types::mark_large(*type_of(*%s));" % p.name
        yield "  return MPI_SUCCESS;"

    def lines(self, bodies):
        if self.f.body_name(self.large) not in bodies:
            yield from self.unsupported()
        elif self.f.reports_errors:
            yield from self.full()
        else:
            yield from self.direct()
        yield self.alias()
        yield ""


def write_chapter(table, chapter, bodies):
    lines = [FILE_OPENING % chapter]
    for function in table.functions:
        if function.chapter == chapter:
            for large in function.forms():
                lines.extend(Writer(function, large).lines(bodies))
    lines.append("}  // namespace tutti::mpi\n")
    return "\n".join(lines)


def write_bodies(table, bodies):
    lines, seen = [BODIES_OPENING], set()
    for function in table.functions:
        for large in function.forms():
            name = function.body_name(large)
            if name in bodies and name not in seen:
                seen.add(name)
                lines.append(Writer(function, large).body_declaration())
    lines.append("\n}  // namespace tutti::mpi::body\n")
    return "\n".join(lines)
