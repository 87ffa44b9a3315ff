// pace: how payloads are best copied into a lane, found out while copying.
//
// Ordinary stores leave the data in the writer's cache, from where the reader pulls it line by
// line; streaming stores pass the caches by. Which is faster depends on where the two cores lie and
// on what their caches hold: measured on one machine, 2.3 against 21 GB/s between distant cores,
// 8.7 against 18 between near ones, 45 against 20 between the halves of one core.
//
// The rule: for each size (by powers of two) payloads are written in stretches of one kind. At the
// end of a stretch, when the lane holds nothing older, both ends time their copies, nothing else;
// the kind whose slower end is faster is kept, and now and then a stretch is of the other kind.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tutti::transport::shm {

enum class Stores : std::uint8_t { ordinary, streaming };
inline constexpr std::size_t kStoreKinds = 2;

// Sizes that are told apart: from 512 B on, each twice the one before; the last one is open.
inline constexpr std::size_t kLeastPaced = 512;
inline constexpr std::size_t kPaceSizes = 7;
inline std::size_t pace_size(std::size_t bytes) {
  return std::min<std::size_t>(std::bit_width(bytes / kLeastPaced) - 1, kPaceSizes - 1);
}
// What a copy of so many bytes took, as ns for 32 KiB.
inline std::uint32_t pace_of(std::int64_t ns, std::size_t bytes) {
  const double scaled = static_cast<double>(ns) * (32 << 10) / static_cast<double>(bytes);
  return static_cast<std::uint32_t>(std::clamp(scaled, 1.0, 2e9));
}

// What the reader measured, for the writer: pace_of, 0: nothing yet. relaxed: figures.
struct ReadPaces {
  std::atomic<std::uint32_t> of[kPaceSizes][kStoreKinds];

  // A copy is slow for many reasons (an interrupt, a busy neighbour), fast for one only: a slower
  // one raises the figure by a quarter at most.
  void took(std::size_t bytes, std::uint32_t kind, std::int64_t ns) {
    std::atomic<std::uint32_t>& told = of[pace_size(bytes)][kind];
    const std::uint32_t before = told.load(std::memory_order_relaxed);
    const std::uint32_t now = pace_of(ns, bytes);
    told.store(before == 0 ? now : std::min(now, before + before / 4 + 1),
               std::memory_order_relaxed);
  }
};

// The writer's end: decides.
class Pace {
 public:
  // A stretch is two rounds through a ring of 256 KiB; the last 16 payloads of it are timed, fewer
  // of long ones.
  static constexpr std::size_t kStretch = 512 << 10;
  static constexpr std::size_t kTimed = kStretch / 4;
  static constexpr std::size_t kTimedPayloads = 16;

  struct Way {
    Stores stores = Stores::ordinary;
    bool is_timed = false;  // by both ends
  };

  // For the next payload, of at least kLeastPaced bytes.
  Way way_for(std::size_t bytes, const ReadPaces& read) {
    Size& size = sizes_[pace_size(bytes)];
    if (size.left < bytes) [[unlikely]]
      end_stretch(size, read.of[pace_size(bytes)]);
    size.left -= std::min(size.left, bytes);
    return {size.stores, size.left < std::min(kTimed, kTimedPayloads * bytes)};
  }
  // A timed payload was copied.
  void took(std::size_t bytes, std::int64_t ns) {
    Size& size = sizes_[pace_size(bytes)];
    size.written = std::min(size.written, pace_of(ns, bytes));
  }

 private:
  struct Size {
    Stores stores = Stores::ordinary;
    bool tries = false;           // the other kind, for this stretch
    std::size_t left = kStretch;  // bytes until the stretch ends
    int stretches = 0;            // until the other kind is tried again
    // The writer's fastest copy of this stretch.
    std::uint32_t written = std::numeric_limits<std::uint32_t>::max();
    std::array<double, kStoreKinds> cost{};  // of the slower end; 0: not measured
  };
  static void end_stretch(Size& size, const std::atomic<std::uint32_t>* read);

  std::array<Size, kPaceSizes> sizes_;
};

}  // namespace tutti::transport::shm
