// The end of processes: orphans are adopted, and whoever is still there is killed.
//
// A process that its parent has left becomes a child of the nearest subreaper above. So killing
// our children until there are none reaches every descendant, double-forked ones included,
// whatever process group or session they are in.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/processes.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::int64_t kKillNs = 1'500'000'000;
constexpr std::int64_t kServersGraceNs = 1'000'000'000;

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void kill_descendants(const std::vector<pid_t>& keep) {
  const std::int64_t began = now_ns();
  // Blocked, the signal stays pending: whoever dies between the look and the wait is not missed.
  sigset_t child, before;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, &before);
  while (now_ns() - began < kKillNs) {
    bool any = false, any_lives = false;
    for (const pid_t pid : children_now()) {
      if (std::find(keep.begin(), keep.end(), pid) != keep.end()) continue;
      any = true;
      // The PMIx server leaves by itself when its daemon is gone, and takes its folder along.
      if (now_ns() - began > kServersGraceNs || !is_pmix_server(pid)) ::kill(pid, SIGKILL);
      any_lives = ::waitpid(pid, nullptr, WNOHANG) != pid || any_lives;
    }
    if (!any) break;
    const timespec moment{0, 1'000'000};
    if (any_lives) ::sigtimedwait(&child, nullptr, &moment);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace tutti::launch::daemon
