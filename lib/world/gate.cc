// The gate's slow paths.
#include "world/gate.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace tutti::world {
namespace {

constexpr int kPauses = 32;       // the first rounds of waiting: no system call
constexpr int kQuickRounds = 4;   // then a round yields the core
constexpr int kLongestAway = 64;  // rounds between two looks at the gate
constexpr int kPatience = 500;    // rounds, before others have to let it in
constexpr int kRounds = 1000;     // before it sleeps
constexpr long kSleep_ns = 1'000'000;
constexpr int kMostYields = 200;  // for one that waits; one that has no core by then waits on
constexpr int kMostTurns = 32;    // looks at others' turns, before we come back in between

void pause() {
#if defined(__x86_64__)
  for (int i = 0; i < kPauses; ++i) __builtin_ia32_pause();
#else
  ::sched_yield();
#endif
}

}  // namespace

// Every call passes here.
void Gate::take(std::thread::id me) {
  if (impatient_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    give_way();
  if (!try_take()) wait_for_turn();
  turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  owner_.store(me, std::memory_order_relaxed);
}

// acquire: what the one before us did is done, see drop().
bool Gate::try_take() {
  return !taken_.exchange(true, std::memory_order_acquire);
}

// Looks at the gate after 1, 2, 4 ... rounds, or when invited; that word is not written by calls.
void Gate::wait_for_turn() {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t seen = invites_.load(std::memory_order_relaxed);
  int next = 1, away = 1, round = 0;
  for (;; ++round) {
    if (round == kPatience) impatient_.fetch_add(1, std::memory_order_relaxed);
    if (round < kQuickRounds)
      pause();
    else if (round < kRounds)
      ::sched_yield();
    else
      sleep();
    const std::uint32_t invites = invites_.load(std::memory_order_relaxed);
    if (round < next && round < kRounds && invites == seen) continue;
    seen = invites;
    away = std::min(2 * away, kLongestAway);
    next = round + away;
    // relaxed: a look, which leaves the line with its owner while it is taken.
    if (!taken_.load(std::memory_order_relaxed) && try_take()) break;
  }
  if (round >= kPatience) impatient_.fetch_sub(1, std::memory_order_relaxed);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

// The one inside may leave without seeing that we sleep: a matter of a few ns, hence no more than a
// limit to the sleep against it.
void Gate::sleep() {
  sleeping_.store(1, std::memory_order_seq_cst);
  if (!taken_.load(std::memory_order_seq_cst)) return;
  const timespec limit{0, kSleep_ns};
  ::syscall(SYS_futex, &sleeping_, FUTEX_WAIT_PRIVATE, 1, &limit, nullptr, 0);
}

void Gate::wake() {
  sleeping_.store(0, std::memory_order_relaxed);
  ::syscall(SYS_futex, &sleeping_, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

bool Gate::try_enter() {
  if (taken_.load(std::memory_order_relaxed) || !try_take()) return false;
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  depth_ = 1;
  return true;
}

void Gate::drop() {
  owner_.store(std::thread::id(), std::memory_order_relaxed);
  // release: pairs with try_take().
  taken_.store(false, std::memory_order_release);
  if (sleeping_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake();
}

void Gate::release() {
  if (!many_) return;
  if (depth_ > 1) kept_[std::this_thread::get_id()] = depth_;
  drop();
}

void Gate::retake() {
  if (!many_) return;
  if (waiting_.load(std::memory_order_relaxed) > 0) give_way();
  take(std::this_thread::get_id());
  depth_ = 1;
  if (kept_.empty()) return;
  const auto kept = kept_.find(std::this_thread::get_id());
  if (kept == kept_.end()) return;
  depth_ = kept->second;
  kept_.erase(kept);
}

// Until one that waits has had its turn, and while others call again and again: coming in between
// would take what they use out of their caches.
void Gate::give_way() {
  std::uint64_t before = turns();
  invites_.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0; i < kMostYields && waiting_.load(std::memory_order_relaxed) > 0; ++i) {
    ::sched_yield();
    if (turns() != before) break;
  }
  for (int i = 0; i < kMostTurns && turns() != before; ++i) {
    before = turns();
    ::sched_yield();
  }
}

void Gate::let_in() {
  if (!many_ || waiting_.load(std::memory_order_relaxed) == 0) return;
  release();
  retake();
}

}  // namespace tutti::world
