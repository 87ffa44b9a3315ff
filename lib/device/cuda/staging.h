// staging: pinned memory in chunks, through which bytes pass between a GPU and the host.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "device/cuda/driver.h"

namespace tutti::device::cuda {

class Staging {
 public:
  static constexpr std::size_t kBytes = std::size_t{8} << 20;
  static constexpr std::size_t kMostChunk = kBytes / 16;

  explicit Staging(const Driver& driver) : driver_(driver) {}
  // The context is current.
  Result<void> open();
  bool is_open() const { return memory_ != nullptr; }
  std::byte* memory() const { return memory_; }
  void cut(std::size_t chunk);  // before the first is taken
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
