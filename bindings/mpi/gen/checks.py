"""Argument checks: which condition a good argument of each kind fulfils, as C++ text.

Everything follows from a parameter's kind, direction and what it accepts. The conditions
themselves are in checks.h; a parameter without one is checked by its body.
"""
import re

from table import OBJECTS

# Lengths of arrays that a call states itself, or that its communicator knows.
LENGTHS = r"\w+(,3)?|(nproc|size|indegree|outdegree)\(comm\)"
# Those of neighbours, some of whom may be nobody.
NEIGHBOURS = {"indegree(comm)": "sources_of(*%s_object)", "outdegree(comm)": "destinations_of(*%s_object)"}


def truth(value):
    return "true" if value else "false"


class Checks:
    """The part of a Writer that checks arguments."""

    def check_of(self, p):
        """One C++ condition that is true when the argument is good, or nothing."""
        quoted = '"%s"' % p.name
        if p.unchecked:
            return None
        if p.is_object:
            return self.check_object(p, quoted)
        if p.kind == "BUFFER" and not p.is_array:
            return self.check_buffer(p, quoted)
        if p.kind == "RANK" and p.direction == "in" and not p.is_array and self.f.communicator:
            comm = self.f.communicator.name + "_object"
            if p is self.f.root:
                return "good_root(%s, %s)" % (p.name, comm)
            return "good_rank(%s, %s, %s, %s)" % (
                p.name, comm, truth("MPI_ANY_SOURCE" in p.accepts),
                truth("MPI_PROC_NULL" in p.accepts))
        if p.kind == "TAG" and p.direction == "in":
            return "good_tag(%s, %s)" % (p.name, truth("MPI_ANY_TAG" in p.accepts))
        if p.kind == "REQUEST" and p.direction != "out":
            return self.check_requests(p, quoted)
        if p.is_natural:
            return self.check_natural(p, quoted)
        if p.is_array:
            return self.check_array(p, quoted)
        if p.kind == "STATUS" and p.direction != "out":
            return "good_pointer(%s, %s)" % (p.name, quoted)
        if p.kind in ("FUNCTION", "POLYFUNCTION") and not p.accepts:
            return "good_function(%s != nullptr, %s)" % (p.name, quoted)
        may_be_null = "NULL" in p.accepts or p.kind == "STATUS"
        is_text = p.kind == "STRING"
        if (p.is_pointer_out or is_text) and not may_be_null:
            return "good_pointer(%s, %s)" % (p.name, quoted)
        return None

    def object_is_good(self, p, found, quoted):
        kind = OBJECTS[p.kind][2] + ("_or_null" if p.may_be_null_handle else "")
        return "good_%s(%s, %s%s, %s)" % (kind, found, "" if p.is_object else "*", p.name, quoted)

    def check_object(self, p, quoted):
        checks = [self.object_is_good(p, p.name + "_object", quoted)]
        if p.may_be_null_handle:
            return checks[0]
        if p.kind == "DATATYPE" and self.f.communicates:
            checks = ["good_committed(%s_object, %s, %s)" % (p.name, p.name, quoted)]
        if p.kind == "OPERATION":
            if not p.accepts and self.f.communicates:
                checks.append("good_in_reductions(%s_object)" % p.name)
            typed = self.f.first(lambda q: q.kind == "DATATYPE" and q.is_object)
            if typed is not None:
                checks.append("good_op_on(%s_object, %s_object)" % (p.name, typed.name))
        return " && ".join(checks)

    def peer_of(self, buffer):
        """The rank that a buffer's message goes to or comes from, where it may be nobody; else none."""
        return next((q for q in self.params if q.kind == "RANK" and self.owners[q.name] is buffer
                     and "MPI_PROC_NULL" in q.accepts and q is not self.f.root), None)

    def moves_nothing(self, p):
        """C++ text: the message has no elements or goes to nobody, so that its type may be the null
        handle; empty where the type always matters: for an operation, too, it must be one."""
        if p.kind != "DATATYPE" or not p.is_object or not self.f.communicates \
                or any(q.kind == "OPERATION" for q in self.params):
            return ""
        buffer = self.owners[p.name]
        count = next((q for q in self.params if "NUM_ELEM" in q.kind and not q.is_array
                      and self.owners[q.name] is buffer), None)
        peer = self.peer_of(buffer)
        return " || ".join((["%s == 0" % count.name] if count else [])
                           + (["%s == MPI_PROC_NULL" % peer.name] if peer else []))

    def described(self, p):
        """'buffer, count, type' of a buffer, where they are single values; else nothing."""
        following = self.params[self.params.index(p) + 1:]
        count = next((q for q in following if "NUM_ELEM" in q.kind), None)
        typed = next((q for q in following if q.kind == "DATATYPE"), None)
        if count is None or typed is None or count.is_array or typed.is_array:
            return None
        number = count.name
        if p.blocks:  # a rank without neighbours need have no buffer
            number = "in_blocks(%s, %s)" % (number, self.length_in(p.blocks))
        return "%s, %s, %s_object" % (p.name, number, typed.name)

    def check_buffer(self, p, quoted):
        in_place = "false"
        if "MPI_IN_PLACE" in p.accepts:
            in_place = self.at_root() if self.f.root else "true"
            if self.f.communicator:
                in_place += " && may_be_in_place(%s_object)" % self.f.communicator.name
        if self.described(p) is None:
            return "good_place(%s, %s, %s)" % (p.name, in_place, quoted)
        return "good_buffer(%s, %s, %s)" % (self.described(p), in_place, quoted)

    def check_array(self, p, quoted):
        """Arrays may be null only when they are empty, or where the table names a substitute."""
        if p.accepts:
            return None
        if p.kind == "STRING" and not p.length:
            return "good_pointer(%s, %s)" % (p.name, quoted)
        if not re.fullmatch(LENGTHS, p.length or ""):
            return None
        return "good_array(%s, %s, %s)" % (p.name, self.length_of(p), quoted)

    def check_requests(self, p, quoted):
        if p.is_array:
            return "good_requests(%s, %s, %s)" % (p.name, p.length, quoted)
        by_value = not p.small_type.endswith("*")
        return "good_request(%s%s, %s)" % ("&" if by_value else "", p.name, quoted)

    def check_natural(self, p, quoted):
        kind = "Code::count" if self.f.counts_elements(p) else "Code::arg"
        if p.is_count_array:
            good = "good_numbers(%s, %s, %s, %s)" % (p.name, self.length_of(p), kind, quoted)
            typed = next((q for q in self.params[self.params.index(p):] if q.kind == "DATATYPE"), None)
            if typed is None or typed.is_array or not self.f.communicates:
                return good
            return "%s && good_total(%s, %s, %s_object, %s)" % (
                good, p.name, self.length_of(p), typed.name, quoted)
        if p.is_array:
            if not re.fullmatch(LENGTHS, p.length or ""):
                return None
            return "good_numbers(%s, %s, %s, %s)" % (p.name, self.length_of(p), kind, quoted)
        return "good_number(%s, %s, %s)" % (p.name, kind, quoted)

    def memory_of(self, p, parts):
        """C++ text: the memory of a buffer that is described by these parameters, or nothing."""
        count = next((q for q in parts if "NUM_ELEM" in q.kind), None)
        typed = next((q for q in parts if q.kind == "DATATYPE"), None)
        places = next((q for q in parts if "DISPLACEMENT" in q.kind), None)
        if count is None or typed is None:
            return None
        kind = typed.name if typed.is_array else typed.name + "_object"
        length = p.blocks or (places and count.length)
        if length:
            owners = NEIGHBOURS[length] % self.f.communicator.name if length in NEIGHBOURS \
                else "Owners(%s)" % self.length_in(length)
            numbers = "%s, %s" % (count.name, places.name) if places else count.name
            return "%s(%s, %s, %s, %s)" % ("blocks_at" if places else "blocks_of", p.name, owners, numbers, kind)
        number = count.name
        if count.is_array:  # everybody gives all blocks, and gets one
            number = "%s[%s_object->rank()]" % (number, self.f.communicator.name) if p.direction == "out" \
                else "sum_of(%s, %s)" % (number, self.length_of(count))
        return "memory_of(%s, %s, %s)" % (p.name, number, kind)

    def untouched(self, p):
        """C++ text: the buffer is not significant, or its message goes to nobody; or nothing."""
        peer = self.peer_of(p)
        return self.absent(p) or (peer and "%s == MPI_PROC_NULL" % peer.name)

    def disjoint(self):
        """What is sent does not overlap what is received (checks=all)."""
        buffers = [p for p in self.params if p.kind == "BUFFER" and not p.is_array]
        if len(buffers) != 2:
            return
        parts = [[q for q in self.params if self.owners[q.name] is p] for p in buffers]
        # A first one that says nothing of itself is as the second says. Packed bytes are not compared.
        memories = [self.memory_of(buffers[0], parts[len(parts[0]) == 1]), self.memory_of(buffers[1], parts[1])]
        if all(memories):
            yield "(%s)" % " || ".join(["!kAllChecks"] + list(filter(None, map(
                self.untouched, buffers))) + ['good_disjoint(%s, %s, "%s", "%s")' % (
                    *memories, *(p.name for p in buffers))])

    def checks(self):
        """Communicators first, then types: later checks lean on them."""
        order = {"COMMUNICATOR": 0, "RANK": 1, "DATATYPE": 2}
        for p in sorted(self.params, key=lambda q: order.get(q.kind, 3)):
            check = self.check_of(p)
            if check is None:
                continue
            absent = self.absent(p)
            if absent:
                yield "(%s || (%s))" % (absent, check)
            else:
                yield check
        yield from self.disjoint()
