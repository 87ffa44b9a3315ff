// Backoff: what to do between two looks at something that others bring about. The one answer of all
// who wait here: look again at once, then give up the core between looks, then sleep.
//
// How long the phases last follows from whom one waits for (Phases).
#pragma once

#include <sched.h>
#include <unistd.h>

#include <cstdint>

#include "base/clock.h"

namespace tutti {

class Backoff {
 public:
  enum class Next : std::uint8_t { look, yield, sleep };
  struct Phases {
    std::int64_t look_ns = 0;       // looking at once
    std::int64_t yield_ns = 0;      // that and giving up the core, from the first look on
    std::uint32_t looks_least = 1;  // before the clock is asked
  };
  explicit Backoff(const Phases& phases) : phases_(phases) {}

  // Something happened: from the beginning.
  void restart() { looks_ = 0; }
  void change(const Phases& phases) { phases_ = phases; }
  const Phases& phases() const { return phases_; }
  // To be asked after each look in vain.
  Next next() {
    if (++looks_ <= phases_.looks_least) [[likely]]
      return Next::look;
    return next_by_clock();
  }
  // How often it has said sleep since the beginning.
  int sleeps() const { return sleeps_; }
  // When the clock was last read.
  std::int64_t read_ns() const { return read_ns_; }

 private:
  static constexpr std::uint32_t kReadEvery = 16;  // looks at once to one of the clock

  Next next_by_clock() {
    const std::uint32_t past = looks_ - phases_.looks_least;  // 1: the first
    if (past != 1 && phase_ == Next::look && past % kReadEvery != 0) return Next::look;
    read_ns_ = now_ns();
    if (past == 1) began_ns_ = read_ns_, sleeps_ = 0;
    const std::int64_t waited_ns = read_ns_ - began_ns_;
    phase_ = waited_ns >= phases_.yield_ns  ? Next::sleep
             : waited_ns >= phases_.look_ns ? Next::yield
                                            : Next::look;
    if (phase_ == Next::sleep) ++sleeps_;
    return phase_;
  }

  Phases phases_;
  std::uint32_t looks_ = 0;  // in vain
  Next phase_ = Next::look;
  int sleeps_ = 0;
  std::int64_t began_ns_ = 0, read_ns_ = 0;
};

// Between two looks at once: the core's other thread goes on meanwhile.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// What it says, but for the sleep, which is the caller's: false.
inline bool pause_awake(Backoff& backoff) {
  const Backoff::Next next = backoff.next();
  if (next == Backoff::Next::look) relax();
  if (next == Backoff::Next::yield) ::sched_yield();
  return next != Backoff::Next::sleep;
}

// For what wakes nobody when it comes to be so, such as the end of a device's work, where the
// caller can do nothing else meanwhile.
template <class IsSo>
void wait_until(IsSo is_so) {
  constexpr Backoff::Phases kPhases{20'000, 1'000'000};  // a short copy; some of the longest
  constexpr int kLookEvery_us = 50;
  for (Backoff backoff(kPhases); !is_so();)
    if (!pause_awake(backoff)) ::usleep(kLookEvery_us);
}

}  // namespace tutti
