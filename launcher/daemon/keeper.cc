// The keeper: a process that does nothing but outlive its daemon.
//
// If the daemon is killed, its ranks die by their parent-death signal, and whatever they had
// started becomes the keeper's child and is killed here. A daemon that was stopped does not see its
// channel close: the keeper does, and kills it some seconds later. If the keeper is killed, the
// daemon is told by SIGTERM and ends everything itself.
//
// A keeper that srun has started is the task of its step, and Slurm knows no other process: signals
// for the step come to it, and are for the ranks (record 0035).
//
// Only the keeper and the daemon adopt orphans, and both begin without children. Who came to be
// prun by exec may have children that are not prun's, and whose orphans nothing tells from those of
// ranks (record 0031).
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/clock.h"
#include "base/environment.h"
#include "base/own_folder.h"
#include "base/shortage.h"
#include "daemon/daemon.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

constexpr int kLookMs = 100;
constexpr std::int64_t kGraceNs = 2'000'000'000;  // a healthy daemon needs less to end its ranks

bool has_children() {
  siginfo_t any{};
  return ::waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

// Signals for the ranks that a keeper may get: as the task of a Slurm step (scancel -s, #SBATCH
// --signal, and what Slurm sends before it ends or suspends a job), or as what a user has started
// on this node, whose terminal's are for itself.
constexpr std::array kOfTask{SIGHUP,  SIGINT,  SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2,
                             SIGALRM, SIGTERM, SIGURG,  SIGXCPU, SIGTSTP, SIGCONT};
constexpr std::array kOfUser{SIGUSR1, SIGUSR2, SIGALRM};

// Whether srun has started it.
bool is_task(const DaemonPlace& place) {
  return place.over_network && !place.by_hand &&
         !value_in(place.environment, "SLURM_STEP_ID").empty();
}

int code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

// Signals of a keeper, from before its daemon is there; afterwards they are as they were. Those of
// a terminal, and those that users send on purpose, reach the ranks by way of prun. Where they come
// to the keeper itself (`for_ranks`), their numbers are written to its daemon.
class KeeperSignals {
 public:
  KeeperSignals(std::span<const int> for_ranks, int to_daemon) : to_daemon_(to_daemon) {
    ::sigemptyset(&read_);
    ::sigaddset(&read_, SIGTERM);
    for (const int number : for_ranks) ::sigaddset(&read_, number);
    passes_term_ = std::find(for_ranks.begin(), for_ranks.end(), SIGTERM) != for_ranks.end();
    ::sigprocmask(SIG_BLOCK, &read_, &blocked_);
  }
  KeeperSignals(const KeeperSignals&) = delete;
  KeeperSignals& operator=(const KeeperSignals&) = delete;
  ~KeeperSignals() {
    for (std::size_t i = 0; i < kIgnored.size(); ++i)
      if (fd_.is_open()) std::signal(kIgnored[i], before_[i]);
    ::sigprocmask(SIG_SETMASK, &blocked_, nullptr);
  }
  // In the daemon: all but SIGTERM, by which the keeper's end is told, are as they were.
  void leave_to_daemon() const {
    sigset_t mask = blocked_;
    ::sigaddset(&mask, SIGTERM);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  }
  void take_over() {
    for (std::size_t i = 0; i < kIgnored.size(); ++i)
      if (::sigismember(&read_, kIgnored[i]) == 0) before_[i] = std::signal(kIgnored[i], SIG_IGN);
    fd_.reset(::signalfd(-1, &read_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  int fd() const { return fd_.get(); }
  void pass_on(pid_t below) const {
    signalfd_siginfo info{};
    while (::read(fd(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const auto number = static_cast<unsigned char>(info.ssi_signo);
      if (info.ssi_signo == SIGTERM && !passes_term_)
        ::kill(below, SIGTERM);
      else if (::write(to_daemon_, &number, 1) != 1)
        ::kill(below, SIGTERM);  // it reads nothing any more
    }
  }

 private:
  static constexpr std::array kIgnored{SIGINT,  SIGHUP,  SIGQUIT, SIGTSTP,
                                       SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};
  const int to_daemon_;
  bool passes_term_ = false;
  UniqueFd fd_;
  sigset_t read_{}, blocked_{};
  std::array<void (*)(int), kIgnored.size()> before_{};
};

struct Ended {
  int status = 0;           // as wait(2) gives it
  bool is_overdue = false;  // and was killed for that
};

// Signals are passed on to it; when `channel` (-1: none) closes, it has kGraceNs.
Ended wait_for(pid_t below, int channel, const KeeperSignals& signals) {
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, below, 0)));
  std::int64_t closed_ns = 0;
  Ended end;
  for (;;) {
    const pid_t seen = ::waitpid(below, &end.status, WNOHANG);
    if (seen == below || (seen < 0 && errno != EINTR)) {
      end.is_overdue = end.is_overdue && WIFSIGNALED(end.status);  // it may have ended just then
      return end;
    }
    std::array<pollfd, 3> look{{{ended.get(), POLLIN, 0},
                                {closed_ns == 0 ? channel : -1, 0, 0},
                                {signals.fd(), POLLIN, 0}}};
    // Without anything to wait for but events it sleeps: the ranks need the processors.
    ::poll(look.data(), look.size(), closed_ns == 0 && ended.is_open() ? -1 : kLookMs);
    if (look[1].revents != 0) closed_ns = now_ns();
    signals.pass_on(below);
    end.is_overdue = closed_ns != 0 && now_ns() - closed_ns > kGraceNs;
    if (end.is_overdue) ::kill(below, SIGKILL);
  }
}

}  // namespace

void sweep_leftovers(const std::vector<std::string>& environment) {
  sweep_own_folders(temporary_folder(value_in(environment, "TMPDIR")));
  sweep_own_folders(kSharedMemoryFolder);
}

void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
}

std::string killed_by(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  std::string text = "was killed by signal " + std::to_string(signal);
  if (name != nullptr) text += std::string(" (SIG") + name + ")";
  if (signal == SIGKILL) text += ", perhaps by the out-of-memory killer";
  return text;
}

// "the daemon did not end within 2 s of its job's, and was killed by its keeper"
static std::string overdue_words() {
  return "the daemon did not end within " + std::to_string(kGraceNs / 1'000'000'000) +
         " s of its job's, and was killed by its keeper";
}

std::string end_of_daemon(int exit_status) {
  const int signal = exit_status - status::of_signal(0);
  if (exit_status == kTold) return "the daemon was told to end by SIGTERM";
  return signal > 0 && signal < NSIG ? "the daemon " + killed_by(signal) : "";
}

int keep(const Kept& what) {
  const bool is_keeper = !has_children();  // else the keeper is a process of its own
  KeeperSignals signals(what.for_ranks, what.to_daemon);
  if (is_keeper) adopt_orphans();
  const pid_t above = ::getpid();
  const pid_t below = ::fork();
  if (below < 0 && !is_keeper) {
    std::fprintf(stderr, "prun: %s\n", no_process(errno).c_str());
    return status::of(status::ExitStatus::no_resources);
  }
  if (below < 0) return what.serve();  // no room for a keeper: go without
  if (below == 0) {
    signals.leave_to_daemon();
    end_with(above);
    ::_exit(is_keeper ? what.serve() : keep(what));
  }
  const int channel = what.step_aside();
  signals.take_over();
  const Ended end = wait_for(below, is_keeper ? channel : -1, signals);
  if (!is_keeper) return code_of(end.status);
  what.after(end.status, end.is_overdue);
  kill_descendants();
  if (WIFSIGNALED(end.status)) sweep_leftovers(what.environment);  // what it could not remove
  return code_of(end.status);
}

int run_kept_daemon(DaemonPlace place) {
  const bool in_step = is_task(place);
  UniqueFd to_daemon;
  int ends[2];
  if ((in_step || place.by_hand) && ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
    place.signals.reset(ends[0]);
    to_daemon.reset(ends[1]);
  }
  const auto serve = [&] {
    to_daemon.reset();
    return run_daemon(std::move(place));
  };
  const auto step_aside = [&place] {
    place.signals.reset();
    return place.up.in.get();
  };
  // The channel must close when the daemon ends, not when we do; the reading end does no harm. Who
  // sees it close finds on our standard error (ssh's, too) how the daemon ended.
  const auto after = [&place](int status, bool is_overdue) {
    // One that was started by hand ends with the status of its job.
    const bool says_status = WIFSIGNALED(status) || !place.by_hand;
    const std::string words = is_overdue    ? overdue_words()
                              : says_status ? end_of_daemon(code_of(status))
                                            : "";
    if (!words.empty()) std::fprintf(stderr, "%s\n", words.c_str());
    place.up.out.reset();
  };
  std::span<const int> for_ranks;
  if (to_daemon.is_open())
    for_ranks = in_step ? std::span<const int>(kOfTask) : std::span<const int>(kOfUser);
  return keep({serve, step_aside, after, place.environment, for_ranks, to_daemon.get()});
}

}  // namespace tutti::launch::daemon
