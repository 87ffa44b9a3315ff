// current: a context is this thread's while this lives; the caller's own comes back.
//
// So does its capture mode. Meanwhile it is relaxed: in any other the driver refuses questions and
// allocations while a graph is captured, by this thread or another one, and spoils the graph.
#pragma once

#include "device/cuda/driver.h"

namespace tutti::device::cuda {

class Current {
 public:
  Current(const Driver& driver, CUcontext context)
      : driver_(driver),
        is_pushed_(driver.cuCtxPushCurrent(context) == CUDA_SUCCESS),
        is_relaxed_(driver.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
  ~Current() {
    CUcontext ours = nullptr;
    if (is_relaxed_) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
    if (is_pushed_) driver_.cuCtxPopCurrent(&ours);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  // False: the context is no more. What is then asked for in it fails, with that reason.
  explicit operator bool() const { return is_pushed_; }

 private:
  const Driver& driver_;
  const bool is_pushed_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the caller's, once exchanged
  const bool is_relaxed_;
};

}  // namespace tutti::device::cuda
