"""mpi.h of the standard ABI, written from the table: prototypes, constants, types."""
from table import declare, prototype

OPENING = """\
/* mpi.h: the MPI %(version)s interface with the standard ABI %(abi)s. Generated; do not edit. */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif
"""
CLOSING = """
#include "mpi-fint.h" /* outside the ABI: MPI_Fint and the handles of Fortran */

#if defined(__cplusplus)
}
#endif

#include "mpi-removed.h" /* what MPI 3.0 removed: for programs that ask for it */

#endif
"""


def mark(item):
    deprecated = item.get("deprecated") if isinstance(item, dict) else item.deprecated
    return " /* deprecated: MPI-%s */" % deprecated if deprecated else ""


def scalar_lines(types):
    for scalar in types["scalars"]:
        internal = scalar["name"].replace("MPI_", "MPI_ABI_")
        yield "#define %s %s" % (internal, scalar["c"])
        yield "typedef %s %s;" % (internal, scalar["name"])


def handle_lines(types):
    for handle in types["handles"]:
        yield "typedef struct %s *%s;" % (handle["struct"], handle["name"])


def status_lines(types):
    yield "typedef struct {"
    for field in types["status"]["fields"]:
        dims = "[%d]" % field["count"] if "count" in field else ""
        yield "  %s %s%s;" % (field["c"], field["name"], dims)
    yield "} MPI_Status;"


def enum_lines(constants, types):
    """Integer constants: named enumerations of their own type, then the anonymous one."""
    for enum in types["enums"]:
        yield "typedef enum %s {" % enum["name"]
        members = [c for c in constants if c["c_type"] == enum["name"]]
        for number, constant in enumerate(members):
            comma = "," if number + 1 < len(members) else ""
            yield "  %s = %d%s" % (constant["name"], constant["value"], comma)
        yield "} %s;" % enum["name"]
        yield ""
    plain = [c for c in constants
             if c["form"] == "enum" and c["c_type"] == "int" and "alias_of" not in c]
    yield "enum {"
    for number, constant in enumerate(plain):
        comma = "," if number + 1 < len(plain) else ""
        yield "  %s = %d%s%s" % (constant["name"], constant["value"], comma, mark(constant))
    yield "};"


def define_lines(constants):
    for constant in constants:
        if "alias_of" in constant:
            value = constant["alias_of"]
        elif constant["form"] != "define":
            continue
        elif constant["c_type"] == "int":
            value = str(constant["value"])
        else:
            number = constant.get("hex") or "%d" % constant["value"]
            c_type = constant["c_type"].replace("*", " *", 1) if "*" in constant["c_type"] \
                else constant["c_type"]
            value = "((%s) %s)" % (c_type, number)
        yield "#define %s %s%s" % (constant["name"], value, mark(constant))


def callback_lines(types):
    for callback in types["callbacks"]:
        args = ", ".join(declare(p.get("c_type"), p["name"]) for p in callback["params"])
        yield "typedef %s (%s)(%s);%s" % (callback["ret"], callback["name"], args, mark(callback))
    for alias in types["function_type_aliases"]:
        yield "typedef %s %s;" % (alias["of"], alias["name"])


def prototype_lines(table, profiling):
    for function in table.functions:
        for large in function.forms():
            yield prototype(function, large, profiling) + ";" + mark(function)


def write(table):
    values = {c["name"]: c["value"] for c in table.constants}
    versions = {
        "version": "%d.%d" % (values["MPI_VERSION"], values["MPI_SUBVERSION"]),
        "abi": "%d.%d" % (values["MPI_ABI_VERSION"], values["MPI_ABI_SUBVERSION"]),
    }
    parts = [
        [OPENING % versions],
        scalar_lines(table.types), [""],
        handle_lines(table.types), [""],
        status_lines(table.types), [""],
        enum_lines(table.constants, table.types), [""],
        callback_lines(table.types), [""],
        define_lines(table.constants), [""],
        prototype_lines(table, False), [""],
        prototype_lines(table, True), [CLOSING],
    ]
    return "\n".join(line for part in parts for line in part)
