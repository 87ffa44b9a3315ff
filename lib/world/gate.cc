// The gate's line. relaxed: what is guarded goes by is_taken_, all else is a hint.
#include "world/gate.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "base/backoff.h"
#include "base/futex.h"

namespace tutti::world {
namespace {

// To give the gate away costs 5 to 35 us, since what its user needs changes caches: a turn is no
// shorter than that, and of the longest 3 % are lost.
constexpr std::int64_t kShortestTurn_ns = 20'000, kLongestTurn_ns = 1'000'000;
// Who makes no call for so long, some ten short calls, has stopped calling.
constexpr std::int64_t kLook_ns = 2'000;
// Threads in line yield for two turns: to be woken costs more, and the gate's owner may need their
// core. Then they sleep; the first in line looks that often, so that nobody has to wake it.
constexpr std::int64_t kAwake_ns = 2 * kLongestTurn_ns;
constexpr int kLookEvery_us = 200;

constexpr Backoff::Phases kPhases{kLook_ns, kAwake_ns, 1};
constexpr int kForEver_ms = 1 << 30;

// Between two looks; false: it is time to sleep.
bool rest(Backoff& backoff) {
  const Backoff::Next next = backoff.next();
  if (next == Backoff::Next::look) relax();
  if (next == Backoff::Next::yield) ::sched_yield();
  return next != Backoff::Next::sleep;
}

// Of the sleepers the one with this place.
std::uint32_t bit_of(std::uint32_t place) {
  return 1U << place % 32;
}

}  // namespace

// While the first in line is to come in; true: it had no core for so long, and we have the gate.
bool Gate::pass_over_first() {
  const std::int64_t until_ns = now_ns() + kShortestTurn_ns;
  while (is_closed_.load(std::memory_order_relaxed)) {
    ::sched_yield();
    if (is_taken_.load(std::memory_order_relaxed)) return false;
    if (now_ns() < until_ns) continue;
    if (is_taken_.exchange(true, std::memory_order_acquire)) return false;
    turn_ends_ns_.store(now_ns() + kShortestTurn_ns, std::memory_order_relaxed);
    is_closed_.store(false, std::memory_order_relaxed);
    return true;
  }
  return !is_taken_.exchange(true, std::memory_order_acquire);
}

void Gate::wait_in_line() {
  if (is_closed_.load(std::memory_order_relaxed) && pass_over_first()) return;
  const std::uint32_t place = last_.fetch_add(1, std::memory_order_relaxed);
  Backoff backoff(kPhases);
  for (std::uint32_t first; (first = first_.load(std::memory_order_acquire)) != place;)
    if (!rest(backoff)) futex_sleep(first_, first, kForEver_ms, bit_of(place));
  wait_for_turn();
  const std::int64_t now = now_ns(), turn_ns = 2 * (now - turn_began_ns_);
  turn_began_ns_ = now;
  turn_ends_ns_.store(now + std::clamp(turn_ns, kShortestTurn_ns, kLongestTurn_ns),
                      std::memory_order_relaxed);
  is_closed_.store(false, std::memory_order_relaxed);
  first_.store(place + 1, std::memory_order_release);  // to the next in line
  if (in_line() > 0) futex_wake(first_, bit_of(place + 1));
}

// Of the first in line: until the gate is taken.
void Gate::wait_for_turn() {
  Backoff backoff(kPhases);
  const std::int64_t began_ns = now_ns();
  std::int64_t look_ns = began_ns + kLook_ns;
  for (std::uint64_t seen = entries();;) {
    const std::int64_t now = now_ns();
    if (now >= turn_ends_ns_.load(std::memory_order_relaxed))
      is_closed_.store(true, std::memory_order_relaxed);
    bool may_come_in = is_closed_.load(std::memory_order_relaxed);
    if (!may_come_in && now >= look_ns) {
      may_come_in = seen == entries();
      seen = entries();
      look_ns = now + (now - began_ns);  // each look takes the word from whoever calls
    }
    if (may_come_in && !is_taken_.load(std::memory_order_relaxed) &&
        !is_taken_.exchange(true, std::memory_order_acquire))
      return;
    if (!rest(backoff)) ::usleep(kLookEvery_us);
  }
}

void Gate::drop() {
  owner_.store(nullptr, std::memory_order_relaxed);
  is_taken_.store(false, std::memory_order_release);
}

bool Gate::try_enter() {
  if (in_line() > 0 || is_taken_.exchange(true, std::memory_order_acquire)) return false;
  owner_.store(this_thread(), std::memory_order_relaxed);
  depth_ = 1;
  return true;
}

// Nobody in line can leave it before we are out.
int Gate::release() {
  const int depth = depth_;
  if (in_line() > 0) is_closed_.store(true, std::memory_order_relaxed);
  drop();
  return depth;
}

bool Gate::step_out() {
  if (!is_inside() || depth_ > 1) return false;
  leave();
  return true;
}

}  // namespace tutti::world
