// Control-Z: the ranks stop, then prun, if somebody is there who could continue it.
//
// That is the kernel's to decide: it lets no process stop by SIGTSTP whose group is orphaned (the
// leader of a session: `ssh -t host prun`, the first process of a container). Then the ranks go on
// at once. So they do when SIGCONT comes before prun has stopped.
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "job/signals.h"

namespace tutti::launch::job {
namespace {

constexpr std::chrono::milliseconds kLookAgain{10};
constexpr std::int64_t kLongestNs = 1'000'000'000;  // for a channel that takes nothing

bool is_pending(int signal) {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

// Stops this process, by a signal that it has blocked and not handled, until SIGCONT comes, which
// is blocked as well and stays to be read. False: nothing came, since it was not stopped.
bool stop_until_continued() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  if (is_pending(SIGCONT)) return true;  // a stop would take it away unread
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  return is_pending(SIGCONT);
}

}  // namespace

void Signals::stop() {
  hosts_.send_all(control::Signal{SIGTSTP});
  stop_when_told(now_ns() + kLongestNs);
}

void Signals::stop_when_told(std::int64_t until_ns) {
  loop_.cancel(stop_timer_);
  if (!hosts_.is_told() && now_ns() < until_ns) {
    stop_timer_ = loop_.after(kLookAgain, [this, until_ns] { stop_when_told(until_ns); });
    return;
  }
  had_terminal_ = terminal_.raw().give_back();
  if (!stop_until_continued()) go_on();
}

void Signals::go_on() {
  loop_.cancel(stop_timer_);
  if (std::exchange(had_terminal_, false)) terminal_.raw().take();
  machine_.go_on();
  hosts_.send_all(control::Signal{SIGCONT});
}

}  // namespace tutti::launch::job
