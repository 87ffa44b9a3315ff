// The keeper: a process that does nothing but outlive its daemon.
//
// If the daemon is killed, its ranks die by their parent-death signal, and whatever they had
// started becomes the keeper's child and is killed here. If the keeper is killed, the daemon is
// told by SIGTERM and ends everything itself. prun is the keeper of daemons on its own machine.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "daemon/daemon.h"

namespace tutti::launch {

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
  // The channel must close when the daemon ends, not when we do.
  place.in.reset();
  place.out.reset();
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGTSTP}) std::signal(signal, SIG_IGN);
  int status = 0;
  for (pid_t ended = 0; ended != daemon;) {
    ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) break;
  }
  kill_descendants();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tutti::launch
