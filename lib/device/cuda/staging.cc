// One block of pinned memory, cut up.
#include "device/cuda/staging.h"

namespace tutti::device::cuda {

Result<void> Staging::open() {
  if (memory_ != nullptr) return {};
  void* memory = nullptr;
  const CUresult said = driver_.cuMemHostAlloc(&memory, kBytes, CU_MEMHOSTALLOC_PORTABLE);
  if (said != CUDA_SUCCESS)
    return fail(Code::no_mem,
                "no " + std::to_string(kBytes >> 20) +
                    " MiB of pinned memory: " + driver_.text_of(said) +
                    "; look at the limit of locked memory (ulimit -l) and what is free");
  memory_ = static_cast<std::byte*>(memory);
  return {};
}

void Staging::cut(std::size_t chunk) {
  for (std::size_t at = 0; at + chunk <= kBytes; at += chunk) free_.push_back(memory_ + at);
}

void Staging::close() {
  if (memory_ != nullptr) driver_.cuMemFreeHost(memory_);
  memory_ = nullptr;
  free_.clear();
}

}  // namespace tutti::device::cuda
