// What there is not enough of, and how a person is told.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace tutti {

// Why a connection that waits cannot be accepted: for want of something that must be given back
// first. Its socket stays readable, so whoever watches it must look elsewhere for a moment.
inline bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// What to do where no thread could be started: the C library has one error for both limits.
inline constexpr const char* kMoreThreads =
    "raise the limit of processes (ulimit -u) or of the address space (ulimit -v)";

// Why a process could not be made, by errno.
inline std::string no_process(int error) {
  const char* const limit =
      error == ENOMEM ? "of the address space (ulimit -v)" : "of processes (ulimit -u)";
  return std::string("cannot start a process: ") + std::strerror(error) + "; raise the limit " +
         limit;
}

}  // namespace tutti
