// The gate: one thread at a time below the bindings, where threads of a rank call at once.
//
// The rule: who finds the gate taken waits in line, and the first in line comes in when whoever has
// the gate stops calling, finds nothing to do, or has had a turn twice as long as the one before,
// 20 us at least and 1 ms at most. Decision 0037 says what that does to whom.
//
// To come in costs one locked instruction, to leave none: that would wait for the stores before it,
// such as those into a peer's lane. Recursive, since a user's operation or callback may call MPI.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "transport/transport.h"

namespace tutti::world {

class Gate final : public transport::Waiter::Gate {
 public:
  void enter() {
    if (is_inside())
      ++depth_;
    else
      come_in(1);
  }
  void leave() {
    if (--depth_ == 0) drop();
  }
  // For a thread that only comes when nobody else does, not from inside. False: somebody does.
  bool try_enter();
  // Around a function of the user's, which may wait for other threads: the gate is free in between.
  // False: not inside, or inside of another call, which may be on its way through what others use.
  bool step_out();
  void step_in() { enter(); }
  // Around a wait: the gate is free in between. Who is in line comes in first.
  int release() override;
  void retake(int depth) override { come_in(depth); }
  bool is_mine() const { return is_inside(); }
  void let_in() override {
    if (in_line() > 0) retake(release());
  }
  // How often a thread has come in so far, and how many are in line: hints.
  std::uint64_t entries() const { return entries_.load(std::memory_order_relaxed); }
  std::uint32_t in_line() const {
    return last_.load(std::memory_order_relaxed) - first_.load(std::memory_order_relaxed);
  }

 private:
  static const void* this_thread() { return __builtin_thread_pointer(); }
  // relaxed: it equals our own only if we wrote it.
  bool is_inside() const { return owner_.load(std::memory_order_relaxed) == this_thread(); }
  void come_in(int depth) {
    // acquire, as in gate.cc: partner is the release in drop().
    if (is_closed_.load(std::memory_order_relaxed) ||
        is_taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait_in_line();
    entries_.store(entries() + 1, std::memory_order_relaxed);
    owner_.store(this_thread(), std::memory_order_relaxed);
    depth_ = depth;
  }
  bool pass_over_first();
  void wait_in_line();
  void wait_for_turn();
  void drop();

  // The first line of memory is written at each call, the second by threads that meet only.
  std::atomic<bool> is_taken_ = false;
  std::atomic<const void*> owner_ = nullptr;
  std::atomic<std::uint64_t> entries_ = 0;
  int depth_ = 0;                                            // guarded by the gate
  std::int64_t turn_began_ns_ = 0;                           // guarded by the gate
  alignas(kCacheLine) std::atomic<bool> is_closed_ = false;  // to all but the first in line
  std::atomic<std::int64_t> turn_ends_ns_ = 0;
  std::atomic<std::uint32_t> last_ = 0, first_ = 0;  // the line: places given, places passed
};

}  // namespace tutti::world
