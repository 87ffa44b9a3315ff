// Memory allocation kinds (MPI 5.0, 11.4.3; for CUDA the Forum's side document): what a program
// asks for, and what it gets. A list is kinds with their restrictors: "system,mpi:alloc_mem,cuda".
#pragma once

#include <string>
#include <string_view>

#include "base/memory.h"

namespace tutti::mpi {

inline constexpr const char* kKindsKey = "mpi_memory_alloc_kinds";
inline constexpr const char* kAssertedKindsKey = "mpi_assert_memory_alloc_kinds";

// Whether any call takes such memory, in this process and now: the vendor's library is asked if the
// program has loaded it. One that is not initialised yet may have some; with `may_start` it is
// initialised, which fixes what it sees (CUDA_VISIBLE_DEVICES). Inside of a call or not.
bool takes_memory(MemoryKind kind, bool may_start = false);
// Whether buffers are looked at for it. Asks nobody: for a signal's handler, too.
bool looks_for_memory(MemoryKind kind);

// By the launcher, of the whole job (prun --memory-alloc-kinds).
std::string kinds_asked_for();
// What there is anyway, and what of `asked` is there.
std::string kinds_provided(std::string_view asked);
// Whether there are all of them.
bool are_kinds_provided(std::string_view kinds);

}  // namespace tutti::mpi
