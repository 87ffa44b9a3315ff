// grid: what makes one source a GPU's kernel and, compiled by the host, its twin for tests.
//
// A kernel walks its work with stride step() from first() on, and touches memory through reach(),
// which on the host asks the stand-in driver whether a GPU might.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/kernels/params.h"

#if defined(__CUDACC__)

#define TUTTI_DEVICE __device__ inline
#define TUTTI_KERNEL(name, Params) \
  extern "C" __global__ void __launch_bounds__(tutti::device::kThreads) name(const Params p)

namespace tutti::device {

TUTTI_DEVICE std::int64_t first() {
  return static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
}
TUTTI_DEVICE std::int64_t step() {
  return static_cast<std::int64_t>(gridDim.y) * blockDim.x;
}
// Rows lie side by side in the grid, so that those begin together that lie together in memory.
TUTTI_DEVICE std::int64_t first_row() {
  return blockIdx.x;
}
TUTTI_DEVICE std::int64_t row_step() {
  return gridDim.x;
}
// How many neighbouring threads share a piece of work, where the host proposes so many: a power of
// two, by its bits.
TUTTI_DEVICE int sharing(int bits) {
  return bits;
}
// Asks for memory that will be needed.
TUTTI_DEVICE void ask_for(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}
template <class T>
TUTTI_DEVICE T* reach(T* address, std::int64_t) {
  return address;
}

}  // namespace tutti::device

#else

#define TUTTI_DEVICE inline
#define TUTTI_KERNEL(name, Params)                        \
  static void name##_body(const Params& p);               \
  extern "C" void tutti_twin_##name(const void* params);  \
  extern "C" void tutti_twin_##name(const void* params) { \
    name##_body(*static_cast<const Params*>(params));     \
  }                                                       \
  static void name##_body(const Params& p)

// Where a test may touch what a GPU would touch at this address; it ends the test if a GPU might
// not.
extern "C" void* tutti_standin_reach(const void* address, std::size_t bytes);

namespace tutti::device {

TUTTI_DEVICE std::int64_t first() {
  return 0;
}
TUTTI_DEVICE std::int64_t step() {
  return 1;
}
TUTTI_DEVICE std::int64_t first_row() {
  return 0;
}
TUTTI_DEVICE std::int64_t row_step() {
  return 1;
}
TUTTI_DEVICE int sharing(int) {
  return 0;
}
TUTTI_DEVICE void ask_for(const void*) {}
template <class T>
TUTTI_DEVICE T* reach(T* address, std::int64_t bytes) {
  return static_cast<T*>(tutti_standin_reach(address, static_cast<std::size_t>(bytes)));
}

}  // namespace tutti::device

#endif
