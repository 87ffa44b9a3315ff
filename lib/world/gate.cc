// The gate's slow paths.
#include "world/gate.h"

#include <sched.h>

namespace tutti::world {
namespace {

constexpr int kMostYields = 200;  // a waiting thread that is not scheduled by then waits on

}  // namespace

// Every call passes here: one locked instruction to come in, one to leave.
void Gate::take() {
  if (!mutex_.try_lock()) wait_for_turn();
  turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void Gate::wait_for_turn() {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  mutex_.lock();
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

bool Gate::try_enter() {
  if (!mutex_.try_lock()) return false;
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  depth_ = 1;
  return true;
}

void Gate::drop() {
  owner_.store(std::thread::id(), std::memory_order_relaxed);
  mutex_.unlock();
}

void Gate::release() {
  if (!many_) return;
  kept_[std::this_thread::get_id()] = depth_;
  drop();
}

void Gate::retake() {
  if (!many_) return;
  take();
  const auto kept = kept_.find(std::this_thread::get_id());
  depth_ = kept->second;
  kept_.erase(kept);
}

void Gate::let_in() {
  if (!many_ || waiting_.load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t before = turns_.load(std::memory_order_relaxed);
  release();
  for (int i = 0; i < kMostYields && waiting_.load(std::memory_order_relaxed) > 0 &&
                  turns_.load(std::memory_order_relaxed) == before;
       ++i)
    ::sched_yield();
  retake();
}

}  // namespace tutti::world
