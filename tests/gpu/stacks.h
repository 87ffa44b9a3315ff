// stacks: where all threads of this process are, told by themselves. A bare machine has no
// debugger.
#pragma once

#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace gpu {

inline int stack_signal() {
  return SIGRTMAX - 1;
}

// "library(+offset)" a line: addr2line -f -e LIBRARY OFFSET names the function.
inline void print_own_stack(int) {
  void* stack[40];
  const int depth = ::backtrace(stack, static_cast<int>(std::size(stack)));
  char title[48];
  const int length = std::snprintf(title, sizeof title, "thread %ld:\n", ::syscall(SYS_gettid));
  if (::write(STDERR_FILENO, title, static_cast<std::size_t>(length)) == length)
    ::backtrace_symbols_fd(stack, depth, STDERR_FILENO);
}

// Before threads begin: the first backtrace() loads a library, which no handler of a signal may do.
inline void prepare_stacks() {
  void* one[1];
  ::backtrace(one, 1);
  struct sigaction action = {};
  action.sa_handler = &print_own_stack;
  action.sa_flags = SA_RESTART;
  ::sigaction(stack_signal(), &action, nullptr);
}

// Of all threads but the caller's, one after the other.
inline void print_stacks() {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    const long thread = std::atol(each.path().filename().c_str());
    if (thread == ::syscall(SYS_gettid)) continue;
    ::syscall(SYS_tgkill, ::getpid(), thread, stack_signal());
    ::usleep(20'000);
  }
}

}  // namespace gpu
