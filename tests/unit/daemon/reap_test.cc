// Nothing outlives the one who started it.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "catch.h"
#include "daemon/daemon.h"

namespace tutti::launch::daemon {
namespace {

bool is_there(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

TEST_CASE("every descendant is killed, double-forked ones in sessions of their own too",
          "[daemon]") {
  adopt_orphans();
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  if (::fork() == 0) {
    for (int i = 0; i < 3; ++i) {
      if (::fork() != 0) continue;
      ::setsid();
      if (::fork() == 0) {
        std::signal(SIGTERM, SIG_IGN);
        const pid_t me = ::getpid();
        (void)!::write(ends[1], &me, sizeof me);
        for (;;) ::pause();
      }
      ::_exit(0);
    }
    ::_exit(0);
  }
  pid_t grandchildren[3] = {};
  for (pid_t& pid : grandchildren)
    REQUIRE(::read(ends[0], &pid, sizeof pid) == static_cast<ssize_t>(sizeof pid));
  const pid_t kept = ::fork();
  if (kept == 0)
    for (;;) ::pause();
  kill_descendants({kept});
  for (const pid_t pid : grandchildren) CHECK_FALSE(is_there(pid));
  CHECK(is_there(kept));
  kill_descendants();
  CHECK_FALSE(is_there(kept));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tutti::launch::daemon
