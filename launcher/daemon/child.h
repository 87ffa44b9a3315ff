// The child between the daemon's clone and its program.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>

#include "daemon/launch.h"

namespace tutti::launch::daemon {

// Whether it runs on the daemon's memory until its exec. A sanitizer's must not; on another
// machine we have no system call that leaves errno, which is the daemon's, alone.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
constexpr bool kSharesMemory = true;
#else
constexpr bool kSharesMemory = false;
#endif

// All that the child needs, as plain pointers.
struct Child {
  const char* path;
  const char* directory;
  char* const* argv;
  char* const* shell_argv;  // /bin/sh, the path, and what follows argv[0]
  char* const* environment;
  int stdio[3];
  int segment, control, server;
  RankFds as;
  volatile int* error;  // where it says why it runs no program: an errno
  pid_t daemon;
  std::array<unsigned long, 128> processors;  // a bit each: 8192, as many as Linux can have
  std::array<unsigned long, 16> memory;       // nodes, a bit each
  const rlimit* open_files;
  bool by_shell;
  bool on_pty;
  bool binds, binds_memory;  // whether any bit is set
};

[[noreturn]] void become_rank(const Child& child);

}  // namespace tutti::launch::daemon
