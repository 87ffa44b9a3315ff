"""A program that calls every function with each bad argument its table allows for, one at a time.

All other arguments are good. The call must return the error class of that argument under
MPI_ERRORS_RETURN, and messages must still pass afterwards (MPI 5.0, 9.3).
"""
import re

from checks import LENGTHS
from table import UNMADE

OPENING = """\
// Every function with each bad argument, one at a time. Generated; do not edit.
#include "arguments.h"

using namespace arguments;

"""
CLOSING = """
int main() {
  begin();
%s
  return end();
}
"""

# Kinds of handles: a good value, and the error class of a bad one.
HANDLES = {
    "COMMUNICATOR": ("MPI_COMM_SELF", "MPI_ERR_COMM"),
    "DATATYPE": ("MPI_INT", "MPI_ERR_TYPE"),
    "OPERATION": ("MPI_SUM", "MPI_ERR_OP"),
    "GROUP": ("some_group", "MPI_ERR_GROUP"),
    "INFO": ("some_info", "MPI_ERR_INFO"),
    "ERRHANDLER": ("MPI_ERRORS_RETURN", "MPI_ERR_ERRHANDLER"),
    "SESSION": ("some_session", "MPI_ERR_SESSION"),
    "WINDOW": ("MPI_WIN_NULL", "MPI_ERR_WIN"),
    "FILE": ("MPI_FILE_NULL", "MPI_ERR_FILE"),
}
# What is no handle: a small number, an address of ours, one where nobody lives, and a freed one.
WILD = ("0x5555", "address", "0xffffffffffffff00", "stale")
# Areas of the interface whose communicators have neighbours.
WITH_NEIGHBOURS = ("neighbor", "topology")


def pointer(p, large, to):
    c_type = re.sub(r" \[.*\]$", " *", p.c_type(large))
    if "[" in p.c_type(large) and "][" in p.c_type(large):
        return "reinterpret_cast<int(*)[3]>(%s)" % to
    if "(*)" in c_type:
        return to
    return "reinterpret_cast<%s>(%s)" % (c_type, to)


def is_pointer(p, large):
    c_type = p.c_type(large)
    return c_type.endswith("*") or "[" in c_type


def good_rank(function, p):
    return "MPI_PROC_NULL" if "MPI_PROC_NULL" in p.accepts and p is not function.root else "0"


def good_scalar(function, p):
    if p.kind == "RANK":
        return good_rank(function, p)
    if p.kind == "TAG":
        return "1"
    is_length = any(q.length == p.name for q in function.params)
    return "1" if p.is_natural or is_length else "0"


def null_handle(p, large):
    return "null_handle<%s>(%s)" % (p.c_type(large)[:-2], p.null)


def good(function, p, large):
    """C++ text of a good argument."""
    c_type = p.c_type(large)
    if p is function.communicator and function.group in WITH_NEIGHBOURS:
        return "some_ring"
    if p.kind in HANDLES and not is_pointer(p, large):
        return HANDLES[p.kind][0]
    if p.kind in ("FUNCTION", "POLYFUNCTION"):
        return "nullptr" if p.accepts else "reinterpret_cast<%s>(&nothing)" % c_type
    if p.kind == "REQUEST" and p.direction != "out":
        return "requests" if is_pointer(p, large) else "MPI_REQUEST_NULL"
    if p.kind == "STATUS" and p.direction == "out":
        return "MPI_STATUS_IGNORE"
    if p.kind == "MESSAGE" and p.direction == "inout":
        return "&message"
    if p.kind == "STRING" and p.direction == "in" and not p.length:
        return '"text"'
    if p.kind in HANDLES and p.direction == "inout":
        return null_handle(p, large)
    if is_pointer(p, large):
        return pointer(p, large, "inputs" if p.direction == "in" else "outputs")
    return good_scalar(function, p)


def bad_handle(p, large):
    null, error = p.null, HANDLES[p.kind][1]
    if is_pointer(p, large):
        if p.direction == "inout":
            yield null_handle(p, large), error
            for wild in WILD:
                yield "wild_handle<%s>(%s)" % (p.c_type(large)[:-2], wild), error
        yield "nullptr", "MPI_ERR_ARG"
        return
    if null not in p.accepts:
        yield null, error
    other = "some_group" if p.kind != "GROUP" else "some_info"
    yield "reinterpret_cast<%s>(%s)" % (p.c_type(large), other), error
    for wild in WILD:
        yield "wild<%s>(%s)" % (p.c_type(large), wild), error


def bad_buffer(function, p, large):
    following = function.visible(large)[function.visible(large).index(p) + 1:]
    if "MPI_IN_PLACE" not in p.accepts and p.direction != "inout":
        yield "MPI_IN_PLACE", "MPI_ERR_BUFFER"
    has_count = any("NUM_ELEM" in q.kind and not q.is_array for q in following[:2])
    has_type = any(q.kind == "DATATYPE" and not q.is_array for q in following[:2])
    if has_count and has_type:
        yield "nullptr", "MPI_ERR_BUFFER"


def bad_rank(function, p):
    error = "MPI_ERR_ROOT" if p is function.root else "MPI_ERR_RANK"
    yield "1", error  # the communicator has one rank
    yield "-77", error


def needs_array(p):
    if not p.is_array or p.accepts or p.kind == "ARGUMENT_LIST":
        return False
    return re.fullmatch(LENGTHS, p.length or "") is not None


def bad(function, p, large):
    """Pairs: C++ text of a bad argument, and the error class it gives."""
    if p.kind in HANDLES and not p.is_array and not (p.direction == "in" and is_pointer(p, large)):
        yield from bad_handle(p, large)
    elif p.kind == "BUFFER" and not p.is_array:
        yield from bad_buffer(function, p, large)
    elif p.kind == "RANK" and not is_pointer(p, large) and function.communicator:
        yield from bad_rank(function, p)
    elif p.kind == "TAG" and p.direction == "in":
        yield "-77", "MPI_ERR_TAG"
    elif p.kind == "KEYVAL" and p.direction == "in":
        yield "MPI_KEYVAL_INVALID", "MPI_ERR_KEYVAL"
    elif p.kind == "REQUEST" and p.direction != "out":
        other = "reinterpret_cast<MPI_Request>(some_group)"
        for bad in [other] + ["wild<MPI_Request>(%s)" % wild for wild in WILD]:
            yield ("one_request(%s)" % bad if is_pointer(p, large) else bad), "MPI_ERR_REQUEST"
    elif p.is_natural and not is_pointer(p, large):
        yield "-1", "MPI_ERR_COUNT" if function.counts_elements(p) else "MPI_ERR_ARG"
    elif needs_array(p) or (p.is_pointer_out and "NULL" not in p.accepts and p.kind != "STATUS"):
        yield "nullptr", "MPI_ERR_ARG"
    elif p.kind == "STATUS" and p.direction != "out":
        yield "MPI_STATUS_IGNORE", "MPI_ERR_ARG"
    elif p.kind in ("FUNCTION", "POLYFUNCTION") and not p.accepts:
        yield "nullptr", "MPI_ERR_ARG"


def beside(function, p, large, bad):
    """C++ text of a good argument beside a bad one: a type that is null is right for nobody's message."""
    if p.kind == "RANK" and bad == "MPI_DATATYPE_NULL" and not is_pointer(p, large):
        return "0"
    return good(function, p, large)


def calls(function, large, has_body):
    visible = function.visible(large)
    for p in visible:
        if not has_body and (p.kind not in UNMADE or p.direction == "out"):
            continue  # looked at once it has one
        for text, error in bad(function, p, large):
            arguments = [text if q is p else beside(function, q, large, text) for q in visible]
            yield '  probe("%s", "%s = %s", %s, [] { return %s(%s); });' % (
                function.c_name(large), p.name, text.replace('"', "'"), error,
                function.c_name(large), ", ".join(arguments))


def write(table, bodies):
    parts, names = [OPENING], []
    for function in table.functions:
        if not function.reports_errors or function.is_unprobed:
            continue
        for large in function.forms():
            lines = list(calls(function, large, function.body_name(large) in bodies))
            if lines:
                names.append("  try_%s();" % function.c_name(large))
                parts.append("static void try_%s() {\n%s\n}" % (function.c_name(large),
                                                                "\n".join(lines)))
    parts.append(CLOSING % "\n".join(names))
    return "\n".join(parts)
