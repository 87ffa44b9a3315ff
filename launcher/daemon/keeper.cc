// The keeper: a process that does nothing but outlive its daemon.
//
// If the daemon is killed, its ranks die by their parent-death signal, and whatever they had
// started becomes the keeper's child and is killed here. A daemon that was stopped does not see its
// channel close: the keeper does, and kills it some seconds later. If the keeper is killed, the
// daemon is told by SIGTERM and ends everything itself.
//
// Only the keeper and the daemon adopt orphans, and both begin without children. Who came to be
// prun by exec may have children that are not prun's, and whose orphans nothing tells from those of
// ranks (record 0031).
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/own_folder.h"
#include "daemon/daemon.h"
#include "daemon/rank_env.h"
#include "job/exit_status.h"

namespace tutti::launch::daemon {
namespace {

constexpr int kLookMs = 100;
constexpr std::int64_t kGraceNs = 2'000'000'000;  // a healthy daemon needs less to end its ranks

bool has_children() {
  siginfo_t any{};
  return ::waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

int code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

// Signals of a keeper, from before its daemon is there; afterwards they are as they were.
class Signals {
 public:
  Signals() {
    ::sigemptyset(&term_);
    ::sigaddset(&term_, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &term_, &blocked_);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    for (std::size_t i = 0; i < kIgnored.size(); ++i)
      if (fd_.is_open()) std::signal(kIgnored[i], before_[i]);
    ::sigprocmask(SIG_SETMASK, &blocked_, nullptr);
  }
  // The terminal's are for the daemon, and SIGTERM is read here.
  void take_over() {
    for (std::size_t i = 0; i < kIgnored.size(); ++i)
      before_[i] = std::signal(kIgnored[i], SIG_IGN);
    fd_.reset(::signalfd(-1, &term_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  int fd() const { return fd_.get(); }
  bool take_sigterm() const {
    signalfd_siginfo info{};
    return ::read(fd(), &info, sizeof info) == static_cast<ssize_t>(sizeof info);
  }

 private:
  static constexpr std::array kIgnored{SIGINT, SIGHUP, SIGQUIT, SIGTSTP};
  UniqueFd fd_;
  sigset_t term_{}, blocked_{};
  std::array<void (*)(int), kIgnored.size()> before_{};
};

// Its wait status. SIGTERM is passed on to it; when `channel` (-1: none) closes, it has kGraceNs.
int wait_for(pid_t below, int channel, const Signals& signals) {
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, below, 0)));
  std::int64_t closed_ns = 0;
  int status = 0;
  for (;;) {
    const pid_t seen = ::waitpid(below, &status, WNOHANG);
    if (seen == below || (seen < 0 && errno != EINTR)) return status;
    std::array<pollfd, 3> look{{{ended.get(), POLLIN, 0},
                                {closed_ns == 0 ? channel : -1, 0, 0},
                                {signals.fd(), POLLIN, 0}}};
    // Without anything to wait for but events it sleeps: the ranks need the processors.
    ::poll(look.data(), look.size(), closed_ns == 0 && ended.is_open() ? -1 : kLookMs);
    if (look[1].revents != 0) closed_ns = now_ns();
    if (signals.take_sigterm()) ::kill(below, SIGTERM);
    if (closed_ns != 0 && now_ns() - closed_ns > kGraceNs) ::kill(below, SIGKILL);
  }
}

}  // namespace

void sweep_leftovers(const std::vector<std::string>& environment) {
  sweep_own_folders(temporary_folder(value_in(environment, "TMPDIR")));
}

void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
}

int keep(const Kept& what) {
  const bool is_keeper = !has_children();  // else the keeper is a process of its own
  Signals signals;
  if (is_keeper) adopt_orphans();
  const pid_t above = ::getpid();
  const pid_t below = ::fork();
  if (below < 0 && !is_keeper) {
    std::fprintf(stderr, "prun: cannot start a process: %s\n", std::strerror(errno));
    return job::status_of(job::ExitStatus::no_resources);
  }
  if (below < 0) return what.serve();  // no room for a keeper: go without
  if (below == 0) {
    end_with(above);
    ::_exit(is_keeper ? what.serve() : keep(what));
  }
  const int channel = what.step_aside();
  signals.take_over();
  const int status = wait_for(below, is_keeper ? channel : -1, signals);
  if (!is_keeper) return code_of(status);
  kill_descendants();
  if (WIFSIGNALED(status)) sweep_leftovers(what.environment);  // what it could not remove
  return code_of(status);
}

int run_kept_daemon(DaemonPlace place) {
  const auto serve = [&place] { return run_daemon(std::move(place)); };
  // The channel must close when the daemon ends, not when we do; the reading end does no harm.
  const auto step_aside = [&place] {
    place.up.out.reset();
    return place.up.in.get();
  };
  return keep({serve, step_aside, place.environment});
}

}  // namespace tutti::launch::daemon
