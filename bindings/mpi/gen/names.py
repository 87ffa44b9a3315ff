"""The functions by number and name: an enumeration for calls, a map for the linker."""

FUNCTIONS_OPENING = """\
// The functions by number: their place in the interface table. Generated; do not edit.
#pragma once

#include <cstdint>

namespace tutti::mpi {

"""


def write_functions(table):
    lines = [FUNCTIONS_OPENING + "namespace function {", "enum Number : std::uint32_t {"]
    lines += ["  %s = %d," % (f.name[4:], f.index) for f in table.functions]
    lines += ["};", "}  // namespace function", "", "inline constexpr const char* kNames[] = {"]
    lines += ['    "%s",' % f.name for f in table.functions]
    lines += ["};", "", "}  // namespace tutti::mpi", ""]
    return "\n".join(lines)


def write_names(table):
    lines = ["// Generated: names of the interface's functions by their number.",
             '#include "watch/watch.h"', "", "namespace tutti::watch {",
             "const char* function_name(std::uint32_t index) {",
             "  constexpr const char* names[] = {"]
    lines += ['      "%s",' % f.name for f in table.functions]
    lines += ["  };", '  return index < sizeof names / sizeof *names ? names[index] : "?";', "}",
              "}  // namespace tutti::watch", ""]
    return "\n".join(lines)


# Of mpi-ext.h: no functions of MPI, so that no table of calls has them.
EXTENSIONS = ["MPIX_GPU_query_support", "MPIX_Query_cuda_support", "MPIX_Query_hip_support",
              "MPIX_Query_rocm_support", "MPIX_Query_ze_support"]


def write_map(table):
    names = "\n".join("    %s;" % s for s in list(table.symbols()) + EXTENSIONS)
    return "{\n  global:\n%s\n  local:\n    *;\n};\n" % names
