// What both ends of a lane share: its counters, lines and geometry (lane.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/pace.h"
#include "transport/transport.h"
#include "wireup/segment.h"

namespace tutti::transport::shm {

// Payload that stands in a frame's first line; in its lines at most.
inline constexpr std::size_t kInlineBytes = 24;
inline constexpr std::uint32_t kMostLines = 8;
inline constexpr std::size_t kMostInLines = kInlineBytes + (kMostLines - 1) * kCacheLine;

// In the control word, beside the bytes of the payload: that lies in the ring or a cell.
inline constexpr std::uint32_t kBeside = 1U << 31;
inline constexpr std::uint32_t kCounterLines = 4;

struct alignas(kCacheLine) LaneLine {
  std::atomic<std::uint64_t> control;  // release by the writer, acquire by the reader
  FrameHeader header;
  union {
    std::byte inlined[kInlineBytes];  // goes on in the lines behind this
    struct {
      std::uint32_t at;   // of the payload in the ring, in units; or kInCell and which
      std::uint32_t end;  // value of the writer's unit counter behind this frame
      Stores stores;      // how it was written
      // The same, where the reader is to time its copy (base/pace.h); kUntimed: it is not.
      std::uint32_t timed;
      // Bytes of a long frame that are there. release by the writer, acquire by the reader.
      std::atomic<std::uint32_t> shown;
    } ring;
  };
};
static_assert(sizeof(LaneLine) == kCacheLine);

// Of a frame whose payload stands in them.
inline std::uint32_t lines_of(std::uint32_t bytes) {
  if (bytes <= kInlineBytes) return 1;
  return 1 + (bytes - std::uint32_t{kInlineBytes} + std::uint32_t{kCacheLine} - 1) /
                 std::uint32_t{kCacheLine};
}

struct LaneCounters {
  // lines read << 32 | ring units read; release by the reader, acquire by the writer.
  alignas(kCacheLine) std::atomic<std::uint64_t> consumed;
  ReadPaces paces;  // on the same line, which the reader writes anyway
  // 1: the writer found the lane full and may be asleep; the reader, which clears it, wakes it
  // when there is room. relaxed: a writer about to sleep issues heavy_fence and tries once more.
  alignas(kCacheLine) std::atomic<std::uint32_t> starving;
};
static_assert(sizeof(LaneCounters) <= kCounterLines * kCacheLine);

inline constexpr std::uint32_t kUnit = 64;  // the ring is handed out in cache lines
inline constexpr std::uint32_t kInCell = 1U << 31;

struct LaneGeometry {
  std::uint32_t lines = 0;
  std::uint32_t units = 0;
  std::uint32_t cell_bytes = 0;

  static LaneGeometry of(const wireup::SegmentFacts& facts) {
    return {facts.lane_lines, static_cast<std::uint32_t>(facts.lane_data_bytes / kUnit),
            facts.lane_cell_bytes};
  }
  std::size_t cell_at() const {
    return (std::size_t{kCounterLines} + lines + units) * kCacheLine;  // a unit is a line
  }
  // Several frames must fit, or writer and reader take turns instead of overlapping.
  std::size_t max_frame() const {
    return std::min<std::size_t>(std::size_t{units} * kUnit / 8, 256 << 10);
  }
};

// Longer frames are long ones, shown in quarters, but in no shorter parts than this: those would
// overlap better, and each costs exchanges of the line that tells of it.
inline constexpr std::size_t kLeastPart = 8 << 10;
inline std::size_t part_of(std::size_t frame) {
  return std::max((frame / 4 + kUnit - 1) / kUnit * kUnit, kLeastPart);
}

}  // namespace tutti::transport::shm
