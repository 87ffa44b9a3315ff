// The gate's line. relaxed: what is guarded goes by is_taken_, all else is a hint.
#include "world/gate.h"

#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/backoff.h"
#include "base/futex.h"

namespace tutti::world {

// To give the gate away costs 5 to 35 us, since what its user needs changes caches: a turn is no
// shorter than that, and of the longest 3 % are lost.
constexpr std::int64_t kShortestTurn_ns = 20'000, kLongestTurn_ns = 1'000'000;
// Who makes no call for so long, some ten short calls, has stopped calling.
constexpr std::int64_t kLook_ns = 2'000;
// Threads in line yield for two turns: to be woken costs more, and the gate's owner may need their
// core. Then they sleep; the first in line looks that often, so that nobody has to wake it.
constexpr std::int64_t kAwake_ns = 2 * kLongestTurn_ns;
constexpr int kLookEvery_us = 200;

void Gate::wait_in_line() {
  // While the first in line is to come in, others let it, unless it has no core for so long.
  for (Backoff passing({0, kShortestTurn_ns}); is_closed() && !is_taken();)
    if (!pause_awake(passing)) is_closed_.store(false, std::memory_order_relaxed);
  if (!is_closed() && try_take()) return;

  const std::uint32_t place = last_.fetch_add(1, std::memory_order_relaxed);
  Backoff backoff({kLook_ns, kAwake_ns});
  for (std::uint32_t first; (first = first_.load(std::memory_order_acquire)) != place;)
    if (!pause_awake(backoff)) futex_sleep(first_, first, INT_MAX, 1U << place % 32);

  backoff.restart();  // the first in line
  const std::int64_t began_ns = now_ns();
  std::int64_t now = began_ns, look_ns = began_ns + kLook_ns;
  for (std::uint64_t seen = entries(); !is_closed() || !try_take(); now = now_ns()) {
    bool closes = now >= turn_ends_ns_;
    if (now >= look_ns) {
      closes |= seen == entries() && !is_taken();
      seen = entries();
      look_ns = now + (now - began_ns);  // each look takes the word from whoever calls
    }
    if (closes && !is_closed()) {
      is_closed_.store(true, std::memory_order_relaxed);
      backoff.restart();
    } else if (!pause_awake(backoff)) {
      ::usleep(kLookEvery_us);
    }
  }
  turn_ends_ns_ = now + std::clamp(2 * (now - turn_began_ns_), kShortestTurn_ns, kLongestTurn_ns);
  turn_began_ns_ = now;
  is_closed_.store(false, std::memory_order_relaxed);
  first_.store(place + 1, std::memory_order_release);  // to the next in line
  if (in_line() > 0) futex_wake(first_, 1U << (place + 1) % 32);
}

}  // namespace tutti::world
