// staging: pinned memory in chunks, through which bytes pass between a GPU and the host.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "device/cuda/driver.h"

namespace tutti::device::cuda {

class Staging {
 public:
  static constexpr std::size_t kChunk = std::size_t{64} << 10;  // as p2p's bounce buffers are long
  static constexpr std::size_t kChunks = 64;

  explicit Staging(const Driver& driver) : driver_(driver) {}
  // The context is current. Taken at the first chunk that is asked for.
  Result<void> open();
  void close();
  std::byte* take() {  // null: all are in use; one comes back when work ends
    if (free_.empty()) return nullptr;
    std::byte* const chunk = free_.back();
    free_.pop_back();
    return chunk;
  }
  void give(std::byte* chunk) { free_.push_back(chunk); }

 private:
  const Driver& driver_;
  std::byte* memory_ = nullptr;
  std::vector<std::byte*> free_;
};

}  // namespace tutti::device::cuda
