// The gate: one thread at a time below the bindings.
//
// Recursive, because a user's operation or callback may call MPI again. Without
// MPI_THREAD_MULTIPLE or a helper (helper.h) it costs a test. Waits let go of it entirely, whatever
// the depth.
//
// One locked instruction to come in, none to leave: that would wait for the stores before it, such
// as those into a peer's lane. Who finds it taken looks again only now and then, unless invited
// (let_in), so that the other makes many calls with everything in its own core's cache: handing
// over costs more than several calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>

#include "base/bytes.h"

namespace tutti::world {

class Gate {
 public:
  explicit Gate(bool many) : many_(many) {}

  void enter() {
    if (!many_) return;
    const std::thread::id me = std::this_thread::get_id();
    // relaxed: it equals our own id only if we wrote it.
    if (owner_.load(std::memory_order_relaxed) == me) {
      ++depth_;
      return;
    }
    take(me);
    depth_ = 1;
  }
  // Only where many threads pass; not for a thread that is inside. False: someone is.
  bool try_enter();
  void leave() {
    if (many_ && --depth_ == 0) drop();
  }

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
  void take(std::thread::id me);
  bool try_take();
  void wait_for_turn();
  void sleep();
  void give_way();
  void drop();
  void wake();

  const bool many_;
  int depth_ = 0;                    // guarded by the gate, as all that is not atomic
  std::atomic<bool> taken_ = false;  // acquire to come in, release to leave
  std::atomic<std::thread::id> owner_{};
  std::atomic<std::uint64_t> turns_{0};  // written by who is inside; relaxed: a hint
  // Written only by threads that wait for each other.
  alignas(kCacheLine) std::atomic<int> waiting_{0};  // in wait_for_turn(); relaxed: a hint
  std::atomic<int> impatient_{0};                    // of these, for long; same
  std::atomic<std::uint32_t> invites_{0};   // bumped by who lets others in; relaxed: a hint
  std::atomic<std::uint32_t> sleeping_{0};  // 1: some of them sleep on this word; see sleep()
  std::map<std::thread::id, int> kept_;     // depths above 1 between release and retake
};

}  // namespace tutti::world
