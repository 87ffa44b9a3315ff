// The memory of one lane, for tests of both its ends.
#pragma once

#include <cstddef>
#include <vector>

#include "transport/shm/lane.h"

namespace tutti::test {

struct LaneMemory {
  explicit LaneMemory(std::uint32_t lines) : geometry{.lines = lines, .units = 8192} {}

  std::byte* bytes() { return reinterpret_cast<std::byte*>(memory.data()); }
  transport::shm::LaneCounters& counters() {
    return *reinterpret_cast<transport::shm::LaneCounters*>(bytes());
  }

  transport::shm::LaneGeometry geometry;
  struct alignas(kCacheLine) Line {
    std::byte bytes[kCacheLine];
  };
  std::vector<Line> memory =
      std::vector<Line>(transport::shm::kCounterLines + geometry.lines + geometry.units);
};

}  // namespace tutti::test
