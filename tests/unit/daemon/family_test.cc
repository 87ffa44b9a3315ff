// All that ranks are stops and goes on; helpers of the daemon do not.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/clock.h"
#include "catch.h"
#include "daemon/daemon.h"
#include "daemon/processes.h"

namespace tutti::launch::daemon {
namespace {

// A child that says who it is, in a group of its own or in ours; with a child in a session of its
// own, which says so as well.
void start(int out, bool own_group, bool with_child) {
  const auto stay = [out] {
    const pid_t me = ::getpid();
    (void)!::write(out, &me, sizeof me);
    for (;;) ::pause();
  };
  if (::fork() != 0) return;
  if (own_group) ::setpgid(0, 0);
  if (with_child && ::fork() == 0) {
    ::setsid();
    stay();
  }
  stay();
}

pid_t next_from(int in) {
  pid_t pid = 0;
  REQUIRE(::read(in, &pid, sizeof pid) == static_cast<ssize_t>(sizeof pid));
  return pid;
}

char state_of(pid_t pid) {
  const auto one = read_process(pid);
  return one ? one->state : '-';
}

bool comes_to(pid_t pid, bool stopped) {
  const std::int64_t limit = now_ns() + 30'000'000'000;
  while ((state_of(pid) == 'T') != stopped)
    if (now_ns() > limit) return false;
  return true;
}

#if defined(__SANITIZE_THREAD__)
constexpr bool kHasMoreThreads = true;
#else
constexpr bool kHasMoreThreads = false;
#endif

TEST_CASE("a process whose first thread alone has ended has others, a dead one has none",
          "[daemon]") {
  for (const bool lives : {false, true}) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!lives) ::_exit(0);
      std::thread([] {
        for (;;) ::pause();
      }).detach();
      ::syscall(SYS_exit, 0);  // of this thread alone, and unwinds nothing of the tests
    }
    // Threads of a sanitizer's own count as well, and go a moment after the first.
    const auto comes = [child, lives] {
      const auto seen = read_process(child);
      if (!seen || seen->state != 'Z') return false;
      return lives && kHasMoreThreads ? seen->threads >= 2 : seen->threads == (lives ? 2 : 1);
    };
    const std::int64_t limit = now_ns() + 30'000'000'000;
    while (!comes() && now_ns() < limit) continue;
    CHECK(comes());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

TEST_CASE("a process that cannot be read lives, unless nobody has its number", "[daemon]") {
  const pid_t child = ::fork();
  while (child == 0) ::pause();
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  const auto is_dead_unread = [&] {
    ::setrlimit(RLIMIT_NOFILE, &none);
    const bool dead = !read_process(child) && is_dead(child);
    ::setrlimit(RLIMIT_NOFILE, &before);
    return dead;
  };
  CHECK_FALSE(is_dead_unread());
  CHECK_FALSE(is_dead(child));
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  CHECK(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(is_dead(child));  // its parent has not asked for it yet
  ::waitpid(child, nullptr, 0);
  CHECK(is_dead(child));
  CHECK(is_dead_unread());
}

TEST_CASE("a rank and its family stop and go on, helpers are left alone", "[daemon]") {
  adopt_orphans();
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  start(ends[1], true, true);
  const pid_t family[2] = {next_from(ends[0]), next_from(ends[0])};
  start(ends[1], false, false);
  const pid_t helper = next_from(ends[0]);
  start(ends[1], true, true);
  const pid_t spared[2] = {next_from(ends[0]), next_from(ends[0])};
  const auto spares = [&spared](pid_t pid) { return pid == spared[0] || pid == spared[1]; };

  signal_descendants(SIGSTOP, spares);
  for (const pid_t pid : family) CHECK(comes_to(pid, true));
  CHECK(state_of(helper) != 'T');
  for (const pid_t pid : spared) CHECK(state_of(pid) != 'T');
  signal_descendants(SIGCONT, spares);
  for (const pid_t pid : family) CHECK(comes_to(pid, false));

  kill_descendants();
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tutti::launch::daemon
