// Waiting for keepers. A daemon whose channel has closed ends its ranks, and its keeper what is
// left; what is done here besides is for keepers that somebody stopped or killed.
#include "spawn/keepers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "spawn/ending.h"

namespace tutti::launch::spawn {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSoonNs = 200 * kMillisecond;  // is enough for nearly all
constexpr std::int64_t kLongestNs =
    5'000 * kMillisecond;  // a keeper needs less, whatever its daemon does

// Its daemon has heard of that by SIGTERM, and is still in the keeper's group.
void await_daemon(pid_t group, std::int64_t until_ns) {
  while (::kill(-group, now_ns() < until_ns ? 0 : SIGKILL) == 0 && now_ns() < until_ns)
    ::poll(nullptr, 0, 1);
}

}  // namespace

void Keepers::add(int host, pid_t keeper, UniqueFd channel) {
  all_[host] = {keeper, std::move(channel)};
}

control::ChannelEnds Keepers::channel_to(int host) {
  UniqueFd channel = std::move(all_.at(host).channel);
  UniqueFd out(::fcntl(channel.get(), F_DUPFD_CLOEXEC, 0));
  return {std::move(channel), std::move(out)};
}

// The keeper has the channel open for as long as it lives: it has ended, or does so now.
std::string Keepers::last_words(int host) const {
  const pid_t keeper = all_.at(host).keeper;
  siginfo_t end{};
  if (!ends_by(keeper, now_ns() + kSoonNs) ||
      ::waitid(P_PID, static_cast<id_t>(keeper), &end, WEXITED | WNOHANG | WNOWAIT) != 0)
    return {};
  if (end.si_code != CLD_EXITED) return "its keeper " + daemon::killed_by(end.si_status);
  return daemon::end_of_daemon(end.si_status);
}

Keepers::~Keepers() {
  for (auto& [host, one] : all_) one.channel.reset();
  const std::int64_t began = now_ns(), until = began + kLongestNs;
  for (const auto& [host, one] : all_) {
    const pid_t keeper = one.keeper;
    bool ended = ends_by(keeper, began + kSoonNs);
    if (!ended) {
      ::kill(-keeper, SIGCONT);  // somebody may have stopped it, or its daemon
      ended = ends_by(keeper, until);
    }
    if (!ended) ::kill(keeper, SIGKILL);
    int status = 0;
    if (ends_by(keeper, until + kSoonNs) && ::waitpid(keeper, &status, WNOHANG) == keeper &&
        WIFSIGNALED(status))
      await_daemon(keeper, until + kLongestNs);
  }
}

}  // namespace tutti::launch::spawn
