"""The functions by number and name: an enumeration for calls, a map for the linker."""

FUNCTIONS_OPENING = """\
// The functions by number: their place in the interface table. Generated; do not edit.
#pragma once

#include <cstdint>

namespace tutti::mpi {

"""


# Those of mpi-ext.h that are calls: they come after the functions of MPI.
STREAM_CALLS = [
    "MPIX_Info_set_hex", "MPIX_Stream_create", "MPIX_Stream_free", "MPIX_Stream_comm_create", "MPIX_Comm_get_stream",
    "MPIX_Send_enqueue", "MPIX_Recv_enqueue", "MPIX_Isend_enqueue", "MPIX_Irecv_enqueue", "MPIX_Wait_enqueue",
    "MPIX_Waitall_enqueue", "MPIX_Barrier_enqueue", "MPIX_Bcast_enqueue", "MPIX_Reduce_enqueue",
    "MPIX_Allreduce_enqueue", "MPIX_Reduce_scatter_block_enqueue", "MPIX_Allgather_enqueue",
    "MPIX_Alltoall_enqueue"]
# Those with a count, whose large form ends in _c.
COUNTED = [name for name in STREAM_CALLS
           if name.endswith("_enqueue") and name not in (
               "MPIX_Wait_enqueue", "MPIX_Waitall_enqueue", "MPIX_Barrier_enqueue")]


def write_functions(table):
    lines = [FUNCTIONS_OPENING + "namespace function {", "enum Number : std::uint32_t {"]
    lines += ["  %s = %d," % (f.name[4:], f.index) for f in table.functions]
    lines += ["  %s = %d," % (name[5:], len(table.functions) + i) for i, name in enumerate(STREAM_CALLS)]
    lines += ["};", "}  // namespace function", "", "inline constexpr const char* kNames[] = {"]
    lines += ['    "%s",' % name for name in [f.name for f in table.functions] + STREAM_CALLS]
    lines += ["};", "// Any thread may call these at any time (MPI 5.0, 11.6).", "inline constexpr bool kAnytime[] = {"]
    lines += ["    %s," % ("true" if f.anytime else "false") for f in table.functions] + ["    false,"] * len(STREAM_CALLS)
    lines += ["};", "", "}  // namespace tutti::mpi", ""]
    return "\n".join(lines)


def write_names(table):
    lines = ["// Generated: names of the interface's functions by their number.",
             '#include "watch/watch.h"', "", "namespace tutti::watch {",
             "const char* function_name(std::uint32_t index) {",
             "  constexpr const char* names[] = {"]
    lines += ['      "%s",' % name for name in [f.name for f in table.functions] + STREAM_CALLS]
    lines += ["  };", '  return index < sizeof names / sizeof *names ? names[index] : "?";', "}",
              "}  // namespace tutti::watch", ""]
    return "\n".join(lines)


# Of mpi-ext.h: no functions of MPI, so that no table of calls has them.
EXTENSIONS = ["MPIX_GPU_query_support", "MPIX_Query_cuda_support", "MPIX_Query_hip_support",
              "MPIX_Query_rocm_support", "MPIX_Query_ze_support",
              *STREAM_CALLS, *[name + "_c" for name in COUNTED]]


def write_map(table):
    names = "\n".join("    %s;" % s for s in list(table.symbols()) + EXTENSIONS)
    return "{\n  global:\n%s\n  local:\n    *;\n};\n" % names
