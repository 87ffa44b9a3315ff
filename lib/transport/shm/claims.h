// claims: long frames that the reader takes from their writer's own memory, where that is faster.
//
// The reader says of which sizes it would (LaneCounters::wanted). A frame of such a size is shown
// before any of it is in the ring, with its address (`source`), and whoever is first has it: the
// writer, when the first part is in the ring, or the reader, which claims it, reads it and says
// taken. A writer waits for that a few microseconds and then shows the first part all the same: the
// claim of a reader that was put off its core is void, and it takes the frame from the ring as any
// other. So no send waits for a receiver that computes.
//
// LaneLine's `shown`, of a frame that may be claimed:
//   0 -> bytes       the writer: it lies in the ring, so far
//   0 -> claimed     the reader
//   claimed -> taken the reader: its reads are over
//   claimed -> 0     the reader: the memory cannot be read (and it wants none from now on)
//   claimed -> bytes the writer, out of patience: what the reader got does not count
//
// Which way is faster a judge says for each size (base/judge.h). A turn is a frame that the reader
// was waiting for, so that it sees the beginning; its figure is the time from then to the end, for
// the bytes that were not in the ring yet.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/judge.h"

namespace tutti::transport::shm {

inline constexpr std::uint32_t kClaimed = 0xffffffff, kTaken = 0xfffffffe;  // no frame is as long

// Frames from here on are told apart by powers of two, the last size open.
inline constexpr std::size_t kLeastClaimed = 32 << 10;
inline constexpr std::size_t kClaimSizes = 2;
inline std::uint32_t claim_bit(std::size_t bytes) {
  return bytes < kLeastClaimed ? 0 : 1U << size_class(bytes, kLeastClaimed, kClaimSizes);
}

// Reads the writer's memory.
class WriterMemory {
 public:
  virtual ~WriterMemory() = default;
  virtual bool read(std::uint64_t from, std::byte* into, std::size_t bytes) = 0;
};

enum class ClaimsWhen : std::uint8_t { never, always, judged };

// The reader's end.
class Claims {
 public:
  Claims(ClaimsWhen when, WriterMemory* source) : source_(source), when_(when) {
    for (ClaimedSize& each : sizes_) each.is_wanted = when == ClaimsWhen::always;
  }

  // What the writer is to be told.
  std::uint32_t wanted() const {
    std::uint32_t bits = 0;
    for (std::size_t size = 0; size < kClaimSizes; ++size)
      bits |= static_cast<std::uint32_t>(sizes_[size].is_wanted) << size;
    return bits;
  }
  bool wants(std::size_t bytes) const { return (wanted() & claim_bit(bytes)) != 0; }
  bool is_judging(std::size_t bytes) const {
    return when_ == ClaimsWhen::judged && bytes >= kLeastClaimed;
  }

  // Of a frame that is wanted and seen before any of it is there. False: it is, or will be, in the
  // ring.
  bool take(std::atomic<std::uint32_t>& shown, std::uint64_t source, std::byte* into,
            std::size_t bytes) {
    std::uint32_t seen = 0;
    // relaxed: the frame's line was acquired before.
    if (!shown.compare_exchange_strong(seen, kClaimed, std::memory_order_relaxed)) return false;
    const bool is_read = source_->read(source, into, bytes);
    if (!is_read) *this = Claims(ClaimsWhen::never, source_);
    seen = kClaimed;
    // release: our reads are over before the writer sees it; pairs with Writer::is_taken.
    return shown.compare_exchange_strong(seen, is_read ? kTaken : 0, std::memory_order_release,
                                         std::memory_order_relaxed) &&
           is_read;
  }

  // One came that way, and so many of its bytes took so long. is_judging() of it.
  void took(bool was_claimed, std::size_t whole, std::size_t bytes, std::int64_t ns) {
    ClaimedSize& size = sizes_[size_class(whole, kLeastClaimed, kClaimSizes)];
    if (was_claimed != size.is_wanted) return;
    size.judge.took(was_claimed ? 1 : 0, pace_of(ns, bytes));
    size.is_wanted = size.judge.next() == 1;
  }

 private:
  struct ClaimedSize {
    bool is_wanted = false;  // of the next one
    Judge judge;             // 0: through the ring, 1: claimed
  };
  std::array<ClaimedSize, kClaimSizes> sizes_;
  WriterMemory* source_;
  ClaimsWhen when_;
};

}  // namespace tutti::transport::shm
