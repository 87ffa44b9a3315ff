// What the generated library of mutants needs: is this function the one that does nothing?
//
// The library is preloaded into ranks only. MUTANT names one function, in its form.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <cstring>

inline bool is_mutant(const char* name) {
  const char* const chosen = std::getenv("MUTANT");
  return chosen != nullptr && std::strcmp(chosen, name) == 0;
}
