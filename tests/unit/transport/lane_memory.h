// The memory of one lane, for tests of both its ends.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rig.h"
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

// Into a lane, with the header of such a number. False: full.
inline bool write_to(transport::shm::Writer& writer, std::uint64_t number,
                     std::span<const std::byte> payload, bool is_piece = false) {
  const transport::FrameHeader header = header_for(number);
  transport::FrameView frame{&header, payload.data(), payload.size()};
  frame.is_piece = is_piece;
  return writer.try_write(frame);
}

}  // namespace tutti::test
