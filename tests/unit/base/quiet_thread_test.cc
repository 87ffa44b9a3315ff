// Threads of ours: what one of them throws.
#include "base/quiet_thread.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <string>

#include "catch.h"

using tutti::QuietThread;

namespace {

[[noreturn]] void run_out_of_memory(int output) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(output, STDERR_FILENO);
  ::signal(SIGABRT, SIG_DFL);
  QuietThread thread([] { throw std::bad_alloc(); });
  thread.join();
  ::_exit(0);
}

}  // namespace

TEST_CASE("a thread that memory is too short for says so and ends the process", "[base]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) run_out_of_memory(ends[1]);
  ::close(ends[1]);
  std::string said;
  char part[256];
  for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(said.find("there is not enough memory for a thread of the library") != std::string::npos);
  CHECK(said.find('\n') == said.size() - 1);
}
