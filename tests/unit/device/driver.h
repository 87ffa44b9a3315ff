// driver: the stand-in CUDA driver for tests of this room, initialised, with GPU 0's context
// current.
#pragma once

#include "device/cuda/driver.h"

// tests/support/cuda.
extern "C" unsigned long long tutti_standin_count(const char* what);

namespace tutti::test {

struct Gpus {
  Gpus() {
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    found = driver.find();
  }
  ~Gpus() { cuDevicePrimaryCtxRelease(0); }
  static CUdeviceptr take(std::size_t bytes) {
    CUdeviceptr memory = 0;
    return cuMemAlloc(&memory, bytes) == CUDA_SUCCESS ? memory : 0;
  }

  CUcontext context = nullptr;
  device::cuda::Driver driver;
  bool found = false;
};

}  // namespace tutti::test
