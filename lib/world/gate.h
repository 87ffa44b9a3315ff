// The gate: one thread at a time below the bindings.
//
// Recursive, because a user's operation or callback may call MPI again. Without
// MPI_THREAD_MULTIPLE or a helper (helper.h) it costs a test. Waits let go of it entirely, whatever
// the depth.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

namespace tutti::world {

class Gate {
 public:
  explicit Gate(bool many) : many_(many) {}

  void enter() {
    if (!many_) return;
    // relaxed: it equals our own id only if we wrote it.
    if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      ++depth_;
      return;
    }
    take();
    depth_ = 1;
  }
  // Only where many threads pass; not for a thread that is inside. False: someone is.
  bool try_enter();
  void leave() {
    if (many_ && --depth_ == 0) drop();
  }

  // Around a wait: the gate is free in between, the depth is kept.
  void release();
  void retake();
  // How often a thread has entered so far, not by try_enter(); a hint.
  // relaxed: nothing is read by it.
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  // Lets a thread in that waits for the gate, if there is one.
  void let_in();

 private:
  void take();
  void wait_for_turn();
  void drop();

  const bool many_;
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
  int depth_ = 0;                        // guarded by mutex_
  std::map<std::thread::id, int> kept_;  // depths of threads between release and retake; same
  std::atomic<int> waiting_{0};          // threads in wait_for_turn(); relaxed: a hint
  std::atomic<std::uint64_t> turns_{0};  // written with mutex_ held; relaxed: a hint for let_in
};

}  // namespace tutti::world
