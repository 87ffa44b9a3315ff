// A small copy that tells its own end: one block of threads copies, then one of them writes a word
// that the processor sees, behind a fence of the whole system.
#include "device/kernels/grid.h"
#include "gpu/told.h"

using gpu::ToldParams;

TUTTI_KERNEL(tutti_told, ToldParams) {
  char* const to = tutti::device::reach(p.to, p.bytes);
  const char* const from = tutti::device::reach(p.from, p.bytes);
  std::uint32_t* const word = tutti::device::reach(p.word, 4);
  const std::int64_t units = p.bytes / 8;
  for (std::int64_t i = tutti::device::first(); i < units; i += tutti::device::step())
    reinterpret_cast<std::uint64_t*>(to)[i] = reinterpret_cast<const std::uint64_t*>(from)[i];
#if defined(__CUDACC__)
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *static_cast<volatile std::uint32_t*>(word) = p.number;
#else
  __atomic_store_n(word, p.number, __ATOMIC_RELEASE);
#endif
}
