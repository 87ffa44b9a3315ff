// Waits for given children; others of this process are left alone.
#include "spawn/ending.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace tutti::launch::spawn {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kPatienceNs = 1'000 * kMs;

bool has_ended(pid_t child) {
  siginfo_t seen{};
  const auto id = static_cast<id_t>(child);
  return ::waitid(P_PID, id, &seen, WEXITED | WNOHANG | WNOWAIT) != 0 || seen.si_pid == child;
}

}  // namespace

bool ends_by(pid_t child, std::int64_t until_ns) {
  if (has_ended(child)) return true;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  while (!has_ended(child)) {
    const std::int64_t left_ms = (until_ns - now_ns()) / kMs;
    if (left_ms <= 0) return false;
    pollfd look{process.get(), POLLIN, 0};
    ::poll(&look, 1, process.is_open() ? static_cast<int>(left_ms) : 1);
  }
  return true;
}

void end_all(const std::vector<Leaving>& all) {
  for (const Leaving& one : all) ::kill(one.whom, SIGTERM);
  const std::int64_t until = now_ns() + kPatienceNs;
  for (const Leaving& one : all) {
    ends_by(one.child, until);
    ::kill(one.whom, SIGKILL);  // not reaped yet: no other process or group has its number
    if (ends_by(one.child, until + kPatienceNs)) ::waitpid(one.child, nullptr, WNOHANG);
  }
}

}  // namespace tutti::launch::spawn
