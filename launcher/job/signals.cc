// What each signal does to the job.
#include "job/signals.h"

#include <chrono>
#include <csignal>
#include <string>

#include "status/status.h"

namespace tutti::launch::job {
namespace {

constexpr std::chrono::seconds kSignalGrace{5};  // after the user's SIGINT or SIGTERM
constexpr int kMostSignals = 3;                  // that end: then prun ends at once
// One interrupt may come twice: timeout(1) and sudo(8) tell their child and its group.
constexpr std::chrono::milliseconds kSameInterrupt{250};

}  // namespace

void Signals::start() {
  loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGALRM,
                    SIGABRT, SIGWINCH},
                   [this](int number) { take(number); });
}

void Signals::take(int number) {
  if (number == SIGTSTP) return stop();
  if (number == SIGCONT) return go_on();
  if (number == SIGWINCH) {
    if (terminal_.raw().is_taken()) hosts_.send_all(control::RawTerminal::size());
    return;
  }
  const bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
  if (ends && !note_end(number)) return;
  if (ends) machine_.interrupt(number);
  if (ends && (++endings_ >= kMostSignals || last_words_.are_said())) {
    machine_.ending().blemish(status::of_signal(number));
    machine_.say_what_hosts_said();
    return loop_.stop();
  }
  if (!course_.is_launched) {
    if (ends || number == SIGABRT)  // the others are for ranks, and there are none yet
      machine_.fail(status::of_signal(number),
                    "ended by a signal while " + std::string(row_of(course_.state).doing));
    return;
  }
  if (ends && course_.state == State::leaving) {
    machine_.say_bye();                       // no round follows any more
    return hosts_.send_all(control::End{0});  // waits for no filter
  }
  if (number == SIGINT && ++interrupts_ > 1) {
    hosts_.send_all(control::End{0});
    return machine_.fail(status::of_signal(number), "interrupted twice; every rank was killed");
  }
  hosts_.send_all(control::Signal{number});
  if (!ends) return;
  loop_.cancel(end_timer_);
  end_timer_ = loop_.after(kSignalGrace, [this, number] {
    hosts_.send_all(control::End{0});
    machine_.fail(status::of_signal(number),
                  "ranks that did not end within 5 s of the signal were killed");
  });
}

bool Signals::note_end(int number) {
  const auto now = std::chrono::steady_clock::now();
  if (number == last_ && now - last_came_ < kSameInterrupt) return false;
  last_ = number;
  last_came_ = now;
  return true;
}

}  // namespace tutti::launch::job
