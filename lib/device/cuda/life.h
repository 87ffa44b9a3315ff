// life: whether a context is still the one that it was.
//
// A primary context that the program resets (cudaDeviceReset) comes back at the same address, and
// nothing that was made in it before is in it then: streams, events, modules, memory. To hand one
// of those to the driver is undefined.
#pragma once

#include "device/cuda/driver.h"

namespace tutti::device::cuda {

class Life {
 public:
  // The context is there.
  Life(const Driver& driver, CUcontext context)
      : driver_(&driver), context_(context), id_(id_now()) {}
  // It was destroyed, or reset, whether or not it has come back. Drivers older than CUDA 12 do not
  // number contexts: with them it is never over.
  bool is_over() const { return id_now() != id_; }

 private:
  unsigned long long id_now() const {
    unsigned long long id = 0;
    if (!driver_->cuCtxGetId.is_there() || driver_->cuCtxGetId(context_, &id) != CUDA_SUCCESS)
      return 0;
    return id;
  }

  const Driver* driver_;
  CUcontext context_;
  unsigned long long id_;  // never used again; 0: it has none
};

}  // namespace tutti::device::cuda
