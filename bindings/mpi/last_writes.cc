// A thread of its own writes, so that the end need not wait for it.
#include "mpi/last_writes.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/futex.h"
#include "base/quiet_thread.h"

namespace tutti::mpi {

void write_what_streams_hold() {
  constexpr int kMoment_ms = 500;
  const auto is_written = std::make_shared<std::atomic<std::uint32_t>>(0);
  QuietThread writer([is_written] {
    (void)std::fflush(nullptr);
    is_written->store(1, std::memory_order_release);  // partner: the load below
    futex_wake(*is_written);
  });
  if (!writer.joinable()) return;
  writer.detach();
  const std::int64_t until = now_ns() + std::int64_t{kMoment_ms} * 1'000'000;
  while (is_written->load(std::memory_order_acquire) == 0 && now_ns() < until)
    futex_sleep(*is_written, 0, kMoment_ms);
}

}  // namespace tutti::mpi
