// What it costs to ask whose memory an address is, a JSON object a line: one process, one GPU.
//
//   {"what": "pointer", "of": "a known allocation", "ns": 41.0}
//
// The driver's own answer is part of that. Prints no line and ends with 1 where the answers are
// wrong.
#include <chrono>
#include <cstdio>
#include <memory>

#include "device/cuda/driver.h"
#include "device/cuda/pointers.h"
#include "device/device.h"

using namespace tutti;
using device::cuda::PointerKind;

namespace {

constexpr int kTimes = 300000;

template <class Ask>
void tell(const char* of, const Ask& ask) {
  ask();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) ask();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  std::printf("{\"what\": \"pointer\", \"of\": \"%s\", \"ns\": %.1f}\n", of, took.count() / kTimes);
}

}  // namespace

int main() {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  device::cuda::Driver driver;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&memory, 1000) != CUDA_SUCCESS ||
      !driver.find()) {
    std::fprintf(stderr, "no GPU can be used\n");
    return 1;
  }
  const auto vendor = device::find_gpus(Knobs::defaults());
  device::cuda::Pointers pointers(driver);
  const void* const known = reinterpret_cast<const void*>(memory);
  int here = 0;
  if (vendor == nullptr || pointers.find(known).kind != PointerKind::device ||
      vendor->owner_of(&here) != nullptr) {
    std::fprintf(stderr, "an address is not known for what it is\n");
    return 1;
  }
  unsigned long long id = 0, sum = 0;
  unsigned type = 0;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void* values[] = {&id, &type};
  tell("the driver's answer alone",
       [&] { driver.cuPointerGetAttributes(2, which, values, memory); });
  tell("a known allocation", [&] { sum += static_cast<unsigned>(pointers.find(known).ordinal); });
  tell("a host's, asked by a call", [&] { sum += vendor->owner_of(&here) != nullptr ? 1 : 0; });
  const auto there = std::make_unique<int>();
  tell("the heap's, asked by a call",
       [&] { sum += vendor->owner_of(there.get()) != nullptr ? 1 : 0; });
  return sum == 0 ? 0 : 1;
}
