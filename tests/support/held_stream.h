// A default stream that stands still until it is let go: work behind it does not end before.
#pragma once

#include <cuda.h>

#include <atomic>
#include <thread>

namespace tutti::test {

class Held {
 public:
  Held() {
    const auto stand = [](void* until) {
      while (!static_cast<std::atomic<bool>*>(until)->load(std::memory_order_acquire))
        std::this_thread::yield();
    };
    put_ = cuLaunchHostFunc(CU_STREAM_LEGACY, stand, &is_free_);
  }
  CUresult put() const { return put_; }  // how it was put into the stream
  void let_go() { is_free_.store(true, std::memory_order_release); }  // acquire: above

 private:
  std::atomic<bool> is_free_{false};
  CUresult put_ = CUDA_SUCCESS;
};

}  // namespace tutti::test
