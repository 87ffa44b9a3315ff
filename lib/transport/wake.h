// wake: putting ranks of one host to sleep and waking them, without a fence per message.
//
//   sender                          sleeper
//   write frame                     sleep word := futex or doorbell
//   load peer's sleep word          heavy_fence (a barrier on every running thread of the host)
//   not awake? wake_sleeper         look once more; nothing? sleep
//
// Without the fence the sender's load could pass its store, and both would miss each other. The
// sleeper pays for both sides (membarrier), because it is about to lose microseconds anyway.
// Where the kernel has no membarrier, register_barriers says so in the rank's own record and
// senders fence themselves (needs_fence). Every sleep has a time limit besides.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.h"
#include "wireup/segment.h"

namespace tutti::transport {

// Once per rank, before it sends or sleeps.
void register_barriers(wireup::LocalRecord& own);
inline bool needs_fence(const wireup::LocalRecord& own) {
  return own.has_barriers == 0;
}
void heavy_fence(const wireup::LocalRecord& own);

// Wakes local rank `local`, which was seen not to be awake. Any thread may call it.
void wake_sleeper(const wireup::Segment& segment, std::uint32_t local);

// To be called after something for `peer` was made visible.
inline void wake_if_asleep(const wireup::Segment& segment, std::uint32_t local,
                           const wireup::LocalRecord& peer, bool fence) {
  if (fence) std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with heavy_fence
  // relaxed: ordered against the sleeper by its heavy_fence, see above.
  if (peer.sleep.load(std::memory_order_relaxed) !=
      static_cast<std::uint32_t>(wireup::SleepState::awake)) [[unlikely]]
    wake_sleeper(segment, local);
}

}  // namespace tutti::transport
