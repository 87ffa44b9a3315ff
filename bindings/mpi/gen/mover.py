"""A library to preload that gives every call the memory of GPUs (tests/mover).

Each buffer of a call is moved there and what the call wrote is moved back, when it has ended or its
request has. What the memory of a buffer is follows from the parameters that describe it, as in the
checks for overlap; what is odd stands in overlay.json (`blocks`, `received`, `on_requests`).
"""
from table import prototype
from wrappers import EXPORTED, Writer

OPENING = """\
// Every call on memory of GPUs. Generated from the interface table; do not edit.
#include "mover.h"

using namespace mover;

"""


class Mover(Writer):
    """One function in one form."""

    def call(self, moved=()):
        return "P%s(%s)" % (self.f.c_name(self.large), ", ".join(
            p.name + "_moved" if p in moved else p.name for p in self.params))

    def parts_of(self, p):
        return [q for q in self.params if self.owners[q.name] is p]

    def bytes_of(self, p):
        """A buffer of packed bytes."""
        length = next((q for q in self.parts_of(p) if q.kind in ("POLYNUM_BYTES_NNI", "POLYDTYPE_PACK_SIZE")), None)
        return length and "bytes_of(%s, %s)" % (p.name, length.name)

    def blocks(self, p):
        """C++ text: the memory of a buffer, or nothing: it is no buffer of a message."""
        buffers = [q for q in self.params if q.kind == "BUFFER"]
        parts = self.parts_of(p)
        # A first one that says nothing of itself is as the second says; in place, that one is as the first.
        if p is buffers[0] and len(parts) == 1 and len(buffers) > 1:
            parts = self.parts_of(buffers[1])
        memory = self.bytes_of(p) or self.memory_of(p, parts)
        first = buffers[0]
        if memory and p is not first and len(self.parts_of(first)) == 1 and "MPI_IN_PLACE" in first.accepts:
            whole = self.memory_of(first, self.parts_of(p))
            memory = "is_in_place(%s) ? %s : %s" % (first.name, whole, memory)
        return memory

    def moved(self):
        return [p for p in self.params if p.kind == "BUFFER" and self.blocks(p)]

    def move(self, p):
        where = self.blocks(p)
        arrays = {q.name for b in self.moved() for q in self.parts_of(b) if q.is_array and q.name in where}
        nothing = " || ".join(filter(None, [self.untouched(p), "is_in_place(%s)" % p.name] + [
            "%s == nullptr" % name for name in sorted(arrays)]))
        way = "sent" if p.direction == "in" and not p.is_received else "received"
        return "  const auto %s_moved = call.move(%s, Way::%s, (%s) ? Blocks{} : (%s));" % (
            p.name, p.name, way, nothing, where)

    def buffers(self):
        yield EXPORTED + "%s {" % prototype(self.f, self.large)
        yield "  if (!is_open()) return %s;" % self.call()
        yield '  Call call("%s");' % self.f.name
        moved = self.moved()
        moves = [self.move(p) for p in moved]
        if "comm_object" in "".join(moves):
            yield "  const Shape shape(comm);"
            yield "  const Shape* const comm_object = &shape;"
        for p in self.params:
            if p.kind == "DATATYPE" and p.name + "_object" in "".join(moves):
                yield "  const MPI_Datatype %s_object = %s;" % (p.name, p.name)
        yield from moves
        yield "  const int code = %s;" % self.call(moved)
        request = next((p for p in self.params if p.kind == "REQUEST"), None)
        if request is None:
            yield "  return call.end(code);"
        else:
            yield "  return call.end(code, %s, %s);" % (request.name, str(self.f.form == "init").lower())
        yield "}"

    def requests(self):
        """One that may end requests, or starts or frees them."""
        request = self.f.first(lambda p: p.kind == "REQUEST")
        by_value = not request.is_array and not request.small_type.endswith("*")
        these = "%s%s, %s" % ("&" if by_value else "", request.name, request.length or "1")
        yield EXPORTED + "%s {" % prototype(self.f)
        if self.f.on_requests == "free":
            yield "  return free_request(%s);" % request.name
        elif self.f.on_requests == "start":
            yield "  starting(%s);" % these
            yield "  return %s;" % self.call()
        else:
            yield "  Ends ends(%s);" % these
            yield "  const int code = %s;" % self.call()
            yield "  return ends.end(code, %s, %s);" % (
                these.split(",")[0], str(request.direction == "in").lower())
        yield "}"

    def ends_requests(self):
        takes = self.f.first(lambda p: p.kind == "REQUEST" and p.direction != "out")
        tells = self.f.first(lambda p: p.kind == "STATUS" and p.direction == "out")
        return takes and (tells or self.f.on_requests)


def write(table, bodies):
    parts = [OPENING]
    for function in table.functions:
        for large in function.forms():
            writer = Mover(function, large)
            if function.body_name(large) not in bodies or not function.reports_errors:
                continue
            if writer.ends_requests():
                parts += list(writer.requests()) + [""]
            elif writer.moved() and function.group != "buffer":  # rooms for sends outlive a call
                parts += list(writer.buffers()) + [""]
    return "\n".join(parts)
