// One block of pinned memory, cut up.
#include "device/cuda/staging.h"

namespace tutti::device::cuda {

Result<void> Staging::open() {
  if (memory_ != nullptr) return {};
  void* memory = nullptr;
  const CUresult said = driver_.cuMemHostAlloc(&memory, kChunk * kChunks, CU_MEMHOSTALLOC_PORTABLE);
  if (said != CUDA_SUCCESS)
    return fail(Code::no_mem,
                "no " + std::to_string(kChunk * kChunks >> 20) +
                    " MiB of pinned memory: " + driver_.text_of(said) +
                    "; look at the limit of locked memory (ulimit -l) and what is free");
  memory_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < kChunks; ++i) free_.push_back(memory_ + i * kChunk);
  return {};
}

void Staging::close() {
  if (memory_ != nullptr) driver_.cuMemFreeHost(memory_);
  memory_ = nullptr;
  free_.clear();
}

}  // namespace tutti::device::cuda
