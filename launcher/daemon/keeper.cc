// The keeper: a process that does nothing but outlive its daemon.
//
// If the daemon is killed, its ranks die by their parent-death signal, and whatever they had
// started becomes the keeper's child and is killed here. A daemon that was stopped does not see its
// channel close: the keeper does, and kills it some seconds later. If the keeper is killed, the
// daemon is told by SIGTERM and ends everything itself. prun is the keeper of daemons on its own
// machine.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/own_folder.h"
#include "daemon/daemon.h"
#include "daemon/rank_env.h"

namespace tutti::launch::daemon {
namespace {

constexpr int kLookMs = 100;
constexpr std::int64_t kGraceNs = 2'000'000'000;  // a healthy daemon needs less to end its ranks

// Reaps whatever else was adopted.
bool has_ended(pid_t daemon, int* status) {
  for (;;) {
    const pid_t ended = ::waitpid(-1, status, WNOHANG);
    if (ended == daemon || (ended < 0 && errno != EINTR)) return true;
    if (ended == 0) return false;
  }
}

}  // namespace

void sweep_leftovers(const std::vector<std::string>& environment) {
  sweep_own_folders(temporary_folder(value_in(environment, "TMPDIR")));
}

int run_kept_daemon(DaemonPlace place) {
  adopt_orphans();
  const pid_t keeper = ::getpid();
  const pid_t daemon = ::fork();
  if (daemon < 0) return run_daemon(std::move(place));  // no room for a keeper: go without
  if (daemon == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != keeper) ::_exit(1);
    ::_exit(run_daemon(std::move(place)));
  }
  // The channel must close when the daemon ends, not when we do; the reading end does no harm.
  place.up.out.reset();
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGTSTP}) std::signal(signal, SIG_IGN);
  int status = 0;
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, daemon, 0)));
  std::int64_t closed_ns = 0;
  while (!has_ended(daemon, &status)) {
    std::array<pollfd, 2> look{
        {{ended.get(), POLLIN, 0}, {closed_ns == 0 ? place.up.in.get() : -1, 0, 0}}};
    ::poll(look.data(), look.size(), kLookMs);
    if (look[1].revents != 0) closed_ns = now_ns();
    if (closed_ns != 0 && now_ns() - closed_ns > kGraceNs) ::kill(daemon, SIGKILL);
  }
  kill_descendants();
  sweep_leftovers(place.environment);  // what the daemon could not remove
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tutti::launch::daemon
