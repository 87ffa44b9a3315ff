// address_wait: how long a rank waits for another one's addresses.
//
// What a rank does before MPI_Init, or between two MPI programs, may take hours. As long as its
// daemon says that it lives it is waited for; that is said once.
#pragma once

#include <cstdint>
#include <limits>

#include "wireup/segment.h"

namespace tutti::wireup {

class AddressWait {
 public:
  static constexpr std::int64_t kLongNs = 120'000'000'000;
  enum class Next : std::uint8_t { take, wait, say, fail };  // say: that it takes long

  explicit AddressWait(std::int64_t now_ns) : say_at_ns_(now_ns + kLongNs) {}

  Next look(const RankRecord& record, std::int64_t now_ns) {
    // acquire: pairs with the daemon's release after it wrote the address.
    if (record.ready.load(std::memory_order_acquire) != 0) return Next::take;
    if (record.gone.load(std::memory_order_acquire) != 0) return Next::fail;
    if (now_ns < say_at_ns_) return Next::wait;
    // Of one that finalized it may still be on its way until now.
    if (record.left.load(std::memory_order_relaxed) != 0) return Next::fail;
    say_at_ns_ = std::numeric_limits<std::int64_t>::max();
    return Next::say;
  }

 private:
  std::int64_t say_at_ns_;
};

}  // namespace tutti::wireup
