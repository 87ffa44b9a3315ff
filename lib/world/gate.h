// The gate: one thread at a time below the bindings.
//
// Recursive, because a user's operation or callback may call MPI again. Without
// MPI_THREAD_MULTIPLE or a helper (helper.h) it costs a test. Waits let go of it entirely, whatever
// the depth.
//
// One locked instruction to come in, none to leave: that would wait for the stores before it, such
// as those into a peer's lane. Handing over costs more than several calls, since what they use goes
// from one core's cache to another's. So threads that call again and again take turns of 3 ms (a
// streak); one that comes only now and then is let in before the next call.
//
// Beside the gate there are side doors, for calls that touch only what lies behind one of them
// (of eight): one thread at a time by each, several beside each other, and nobody while one
// is inside by the gate. Threads that meet at one door take turns there, too; one that finds the
// gate taken again and again has all doors shut for a while.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/bytes.h"

namespace tutti::world {

class Gate {
 public:
  explicit Gate(bool many) : many_(many) {}

  void enter() {
    if (!many_) return;
    const Id me = this_thread();
    // relaxed: it equals our own id only if we wrote it.
    if (owner_.load(std::memory_order_relaxed) == me) {
      ++depth_;
      return;
    }
    // acquire (and see try_take()): what the one before us did is done.
    State was = State::taken;
    if (impatient_.load(std::memory_order_relaxed) == 0)
      was = state_.exchange(State::taken, std::memory_order_seq_cst);
    if (was != State::free) [[unlikely]]
      take(me, was);
    come_in(me);
    depth_ = 1;
  }
  // Only where many threads pass; not for a thread that is inside. False: someone is.
  bool try_enter();
  void leave() {
    if (many_ && --depth_ == 0) drop();
  }

  // Around a function of the user's, which may wait for other threads: the gate is free in between.
  // False: not inside, or inside of another call, which may be on its way through what others use.
  bool step_out();
  void step_in() { enter(); }

  // Called inside: there are side doors from now on; there are none for the next kShutFor turns.
  void open_sides() { left_as_ = State::free_with_sides; }
  void shut_sides();
  bool is_inside() const { return owner_.load(std::memory_order_relaxed) == this_thread(); }
  // By a side door; not recursive, nothing that waits or calls back. shut: go by the gate; busy:
  // the same, and others were in the way; none: open_sides() is due.
  enum class Side : std::uint8_t { in, shut, busy, none };
  Side try_side(std::size_t door);
  // release: pairs with the next one to come in by this door, and by the gate.
  void leave_side(std::size_t door) { doors_[door].taken.store(false, std::memory_order_release); }

  // Around a wait: the gate is free in between, the depth is kept. retake lets others in first
  // that wait for it.
  void release();
  void retake();
  // How often a thread has entered so far, not by try_enter(); a hint.
  // relaxed: nothing is read by it.
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  // Lets a thread in that waits for the gate, if there is one.
  void let_in();

 private:
  using Id = std::uintptr_t;  // of a thread; 0: none
  enum class State : std::uint8_t { free, free_with_sides, taken };
  static Id this_thread() { return reinterpret_cast<Id>(__builtin_thread_pointer()); }

  struct alignas(kCacheLine) Door {
    std::atomic<bool> taken = false;
    std::atomic<std::uint64_t> turns{0};  // written by who is behind it; relaxed: a hint
  };

  void take(Id me, State was);
  void take_in_turn(bool is_asked, bool had_its_turn);
  void stand_back() const;
  void take_between_polls(Id me);
  void come_in(Id me) {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    owner_.store(me, std::memory_order_relaxed);
    if (last_.load(std::memory_order_relaxed) != me) [[unlikely]]
      begin_streak(me);
  }
  bool try_take();
  void close_sides();
  void wait_for_door(const Door& door, std::int64_t& began_ns);
  bool is_taken() const { return state_.load(std::memory_order_relaxed) == State::taken; }
  bool had_its_turn(Id me) const;
  void begin_streak(Id me);
  static constexpr std::size_t kRemembered = 64;
  static std::size_t place_of(Id thread);
  void wait_for_turn(std::int64_t patience_ns);
  void sleep();
  void give_way();
  bool waited_in_vain() const;
  void drop();
  void wake();

  const bool many_;
  int depth_ = 0;                          // guarded by the gate, as all that is not atomic
  std::atomic<State> state_{State::free};  // acquire to come in, release to leave
  State left_as_ = State::free;            // what it is when nobody is inside
  std::atomic<Id> owner_{0};
  std::atomic<std::uint64_t> turns_{0};  // written by who is inside; relaxed: a hint
  std::atomic<Id> last_{0};              // who came in last; relaxed: a hint to others
  std::atomic<std::uint64_t> began_{0};  // the turn at which its streak began; the same
  bool has_polled_ = false;              // in this streak
  // Written only by threads that wait for each other.
  alignas(kCacheLine) std::atomic<int> waiting_{0};  // in wait_for_turn(); relaxed: a hint
  std::atomic<int> impatient_{0};                    // of these, who ask to be let in; same
  std::atomic<int> hasty_{0};                 // of these, who have waited for nothing yet; same
  std::atomic<std::uint32_t> invites_{0};     // bumped by who lets others in; relaxed: a hint
  std::atomic<std::uint32_t> sleeping_{0};    // 1: some of them sleep on this word; see sleep()
  std::map<Id, int> kept_;                    // depths above 1 between release and retake
  std::atomic<std::uint64_t> in_vain_at_{0};  // the turn at which one was waited for so; a hint
  std::array<Door, 8> doors_;
  std::atomic<std::uint64_t> reopen_at_{0};  // turn, while they are shut; relaxed: a hint
  // When a thread's last streak ended; by place_of(), who shares one is judged wrongly.
  std::array<std::atomic<std::int64_t>, kRemembered> ended_ns_{};  // relaxed: a hint
};

}  // namespace tutti::world
