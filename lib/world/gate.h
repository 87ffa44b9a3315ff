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
    if (!is_mine()) return retake(1);
    ++depth_;
  }
  void leave() {
    if (--depth_ == 0) drop();
  }
  // For a thread that only comes when nobody else does, not from inside. False: somebody does.
  bool try_enter() {
    if (in_line() > 0 || !try_take()) return false;
    own(1);
    return true;
  }
  // Before a function of the user's, which may wait for other threads: the gate is free until
  // enter(). False: not inside, or inside of another call, which others could find half done.
  bool step_out() {
    if (!is_mine() || depth_ > 1) return false;
    leave();
    return true;
  }
  // Around a wait, in which the gate is free. Who is in line comes in first, and stays until then.
  int release() override {
    if (in_line() > 0) is_closed_.store(true, std::memory_order_relaxed);
    const int depth = depth_;
    drop();
    return depth;
  }
  void retake(int depth) override {
    if (is_closed() || !try_take()) [[unlikely]]
      wait_in_line();
    own(depth);
  }
  // relaxed: it equals our own only if we wrote it.
  bool is_mine() const { return owner_.load(std::memory_order_relaxed) == this_thread(); }
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
  bool is_closed() const { return is_closed_.load(std::memory_order_relaxed); }
  bool is_taken() const { return is_taken_.load(std::memory_order_relaxed); }
  // acquire: partner is the release in drop().
  bool try_take() { return !is_taken() && !is_taken_.exchange(true, std::memory_order_acquire); }
  void own(int depth) {
    entries_.store(entries() + 1, std::memory_order_relaxed);
    owner_.store(this_thread(), std::memory_order_relaxed);
    depth_ = depth;
  }
  void wait_in_line();
  void drop() {
    owner_.store(nullptr, std::memory_order_relaxed);
    is_taken_.store(false, std::memory_order_release);
  }

  // The first line of memory is written at each call, the second by threads that meet only.
  std::atomic<bool> is_taken_ = false;
  std::atomic<const void*> owner_ = nullptr;
  std::atomic<std::uint64_t> entries_ = 0;
  int depth_ = 0;                                            // guarded by the gate
  alignas(kCacheLine) std::atomic<bool> is_closed_ = false;  // to all but the first in line
  std::atomic<std::uint32_t> last_ = 0, first_ = 0;          // places given, places passed
  std::int64_t turn_began_ns_ = 0, turn_ends_ns_ = 0;        // of the first in line
};

}  // namespace tutti::world
