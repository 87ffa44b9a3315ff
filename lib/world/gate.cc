// The gate's slow paths.
#include "world/gate.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/clock.h"

namespace tutti::world {
namespace {

constexpr int kPauses = 32;      // the first rounds of waiting: no system call
constexpr int kQuickRounds = 4;  // then a round yields the core
constexpr int kShortWaits = 20;  // pauses for the calls of one that comes only now and then
constexpr int kFirstLook = 8;    // round, for one that has just had its turn
constexpr int kLookEvery = 64;   // rounds between two looks at the gate, in the end
constexpr std::uint64_t kShortStreak = 64;      // turns; one that polls and makes fewer had no turn
constexpr std::int64_t kStreakGap_ns = 10'000;  // between two calls of a streak, at most
constexpr std::int64_t kStreak_ns = 3'000'000;
constexpr std::int64_t kPolls_ns = 20'000;  // the same for one that polls
constexpr std::int64_t kAwake_ns = 4'000'000;
constexpr long kSleep_ns = 1'000'000;
constexpr int kSideRounds = 4;              // looks of one that comes by a side door
constexpr std::uint64_t kShutFor = 65'536;  // turns
constexpr int kYieldRounds = 1000;          // for one behind a side door; then it has no core
constexpr int kMostYields = 200;  // for one that waits; one that has no core by then waits on
constexpr std::uint64_t kCallsInVain = 64;  // calls, before it is waited for again

void pause() {
#if defined(__x86_64__)
  for (int i = 0; i < kPauses; ++i) __builtin_ia32_pause();
#else
  ::sched_yield();
#endif
}

// In the nth round of waiting for one that leaves as soon as it has a core.
void wait_shortly(int round) {
  if (round < kQuickRounds) return pause();
  if (round < kYieldRounds) {
    ::sched_yield();
    return;
  }
  const timespec limit{0, kSleep_ns / 20};
  ::nanosleep(&limit, nullptr);
}

}  // namespace

// For who did not just find it free. free_with_sides: we have taken it.
void Gate::take(Id me, State was) {
  if (was == State::free_with_sides) return close_sides();
  const bool is_asked = impatient_.load(std::memory_order_relaxed) != 0 && !waited_in_vain();
  if (is_asked || !try_take()) take_in_turn(is_asked, had_its_turn(me));
}

void Gate::take_in_turn(bool is_asked, bool had_its_turn) {
  // Who asked without having waited is likely to make a few calls only.
  const bool is_short = is_asked && hasty_.load(std::memory_order_relaxed) != 0;
  if (is_asked) give_way();
  if (is_short) stand_back();
  if (!try_take()) wait_for_turn(had_its_turn ? kStreak_ns : 0);
}

// Until nobody has come in for a while, or for too long.
void Gate::stand_back() const {
  std::uint64_t before = 0;
  for (int i = 0; i < kShortWaits; ++i) {
    before = turns();
    pause();
    if (turns() == before && !is_taken()) return;
  }
}

// For one that comes back from letting others in.
void Gate::take_between_polls(Id me) {
  if (!try_take()) wait_for_turn(kPolls_ns);
  come_in(me);
  has_polled_ = true;
}

// acquire: what the one before us did is done, see drop(). seq_cst: either who comes by a side door
// sees that the gate is taken, or we see that the door is.
bool Gate::try_take() {
  const State was = state_.exchange(State::taken, std::memory_order_seq_cst);
  if (was == State::free_with_sides) close_sides();
  return was != State::taken;
}

// Until all who came by a side door have left. It takes them less than a call does.
void Gate::close_sides() {
  for (const Door& door : doors_)
    for (int round = 0; door.taken.load(std::memory_order_seq_cst); ++round) wait_shortly(round);
}

void Gate::shut_sides() {
  left_as_ = State::free;
  reopen_at_.store(turns() + kShutFor, std::memory_order_relaxed);
}

Gate::Side Gate::try_side(std::size_t at) {
  Door& door = doors_[at];
  std::int64_t began_ns = 0;
  for (int round = 0; round < kSideRounds;) {
    const State state = state_.load(std::memory_order_relaxed);
    if (state == State::free)
      return turns() < reopen_at_.load(std::memory_order_relaxed) ? Side::shut : Side::none;
    if (state == State::free_with_sides) {
      if (door.taken.exchange(true, std::memory_order_seq_cst)) {
        wait_for_door(door, began_ns);
        continue;
      }
      // seq_cst: see try_take().
      if (state_.load(std::memory_order_seq_cst) == State::free_with_sides) {
        door.turns.store(door.turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return Side::in;
      }
      leave_side(at);
    }
    if (is_inside() || turns() < reopen_at_.load(std::memory_order_relaxed)) return Side::shut;
    pause();
    ++round;
  }
  return Side::busy;
}

// Until it is worth while to try again: nobody has come in between two looks, or the others had
// their streak.
void Gate::wait_for_door(const Door& door, std::int64_t& began_ns) {
  if (began_ns == 0) began_ns = now_ns();
  std::uint64_t before = door.turns.load(std::memory_order_relaxed);
  for (int round = 1, next = 1;; ++round) {
    wait_shortly(std::min(round, kYieldRounds - 1));
    if (round < next) continue;
    next = std::min(2 * round, round + kLookEvery);
    const bool is_streak = std::exchange(before, door.turns.load(std::memory_order_relaxed)) !=
                           door.turns.load(std::memory_order_relaxed);
    if (!is_streak || now_ns() - began_ns >= kStreak_ns) return;
  }
}

// Multiply and fold: thread pointers share their low bits.
std::size_t Gate::place_of(Id thread) {
  return ((thread * 0x9e3779b97f4a7c15U) >> 32) % kRemembered;
}

void Gate::begin_streak(Id me) {
  const std::uint64_t now = turns();
  const bool is_forgotten =
      has_polled_ && now - began_.load(std::memory_order_relaxed) < kShortStreak;
  const Id last = last_.load(std::memory_order_relaxed);
  ended_ns_[place_of(last)].store(is_forgotten ? 0 : now_ns(), std::memory_order_relaxed);
  began_.store(now, std::memory_order_relaxed);
  last_.store(me, std::memory_order_relaxed);
  has_polled_ = false;
}

// Whether it has just had a streak, and calls again at once. One that waited for a message and
// then made but a few calls has not: the next message may wait for its answer.
bool Gate::had_its_turn(Id me) const {
  if (last_.load(std::memory_order_relaxed) == me) return true;
  return now_ns() - ended_ns_[place_of(me)].load(std::memory_order_relaxed) <= kStreakGap_ns;
}

// Comes in when nobody has done so between two looks, or when let in: at an invitation, for which
// it asks when out of patience. That word is not written by calls.
void Gate::wait_for_turn(std::int64_t patience_ns) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t began_ns = now_ns();
  std::uint32_t seen = invites_.load(std::memory_order_relaxed);
  std::uint64_t before = turns();
  bool asks = false;
  int next = patience_ns == 0 ? 1 : kFirstLook;  // round in which to look
  for (int round = 1;; ++round) {
    const std::int64_t waited_ns = round <= kQuickRounds ? 0 : now_ns() - began_ns;
    if (!asks && waited_ns >= patience_ns) {
      asks = true;
      if (patience_ns == 0) hasty_.fetch_add(1, std::memory_order_relaxed);
      impatient_.fetch_add(1, std::memory_order_relaxed);
    }
    if (round < kQuickRounds)
      pause();
    else if (waited_ns < kAwake_ns)
      ::sched_yield();
    else
      sleep();
    const std::uint32_t invites = invites_.load(std::memory_order_relaxed);
    const bool is_let_in = asks || invites != seen;
    if (!is_let_in && round < next) continue;
    seen = invites;
    next = std::min(2 * round, round + kLookEvery);
    const bool is_streak = std::exchange(before, turns()) != turns();
    if (is_streak && !is_let_in) continue;
    // relaxed: a look, which leaves the line with its owner while it is taken.
    if (!is_taken() && try_take()) break;
  }
  if (asks) impatient_.fetch_sub(1, std::memory_order_relaxed);
  if (asks && patience_ns == 0) hasty_.fetch_sub(1, std::memory_order_relaxed);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

// The one inside may leave without seeing that we sleep: a matter of a few ns, hence no more than a
// limit to the sleep against it.
void Gate::sleep() {
  sleeping_.store(1, std::memory_order_seq_cst);
  if (state_.load(std::memory_order_seq_cst) != State::taken) return;
  const timespec limit{0, kSleep_ns};
  ::syscall(SYS_futex, &sleeping_, FUTEX_WAIT_PRIVATE, 1, &limit, nullptr, 0);
}

void Gate::wake() {
  sleeping_.store(0, std::memory_order_relaxed);
  ::syscall(SYS_futex, &sleeping_, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

bool Gate::try_enter() {
  if (is_taken() || !try_take()) return false;
  owner_.store(this_thread(), std::memory_order_relaxed);
  depth_ = 1;
  return true;
}

void Gate::drop() {
  owner_.store(0, std::memory_order_relaxed);
  // release: pairs with try_take().
  state_.store(left_as_, std::memory_order_release);
  if (sleeping_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake();
}

void Gate::release() {
  if (!many_) return;
  if (depth_ > 1) kept_[this_thread()] = depth_;
  drop();
}

void Gate::retake() {
  if (!many_) return;
  if (waiting_.load(std::memory_order_relaxed) > 0) give_way();
  take_between_polls(this_thread());
  depth_ = 1;
  if (kept_.empty()) return;
  const auto kept = kept_.find(this_thread());
  if (kept == kept_.end()) return;
  depth_ = kept->second;
  kept_.erase(kept);
}

bool Gate::step_out() {
  if (!many_ || !is_inside() || depth_ > 1) return false;
  leave();
  return true;
}

// Until one that waits has had its turn.
void Gate::give_way() {
  const std::uint64_t before = turns();
  invites_.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0; i < kMostYields && waiting_.load(std::memory_order_relaxed) > 0; ++i) {
    ::sched_yield();
    if (turns() != before) return;
  }
  in_vain_at_.store(before, std::memory_order_relaxed);
}

bool Gate::waited_in_vain() const {
  const std::uint64_t at = in_vain_at_.load(std::memory_order_relaxed);
  return at != 0 && turns() - at < kCallsInVain;
}

void Gate::let_in() {
  if (!many_ || waiting_.load(std::memory_order_relaxed) == 0) return;
  release();
  retake();
}

}  // namespace tutti::world
