// Sleep words and membarrier.
#include "transport/wake.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/transport.h"
#include "wireup/doorbell.h"
#include "wireup/wireup.h"

namespace tutti::transport {
namespace {

using wireup::SleepState;

long membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

void register_barriers(wireup::LocalRecord& own) {
  const bool works = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
  own.has_barriers = works ? 1 : 0;
}

void heavy_fence(const wireup::LocalRecord& own) {
  if (!needs_fence(own)) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with wake_if_asleep's
}

void wake_sleeper(const wireup::Segment& segment, std::uint32_t local) {
  wireup::LocalRecord& record = segment.local(local);
  // exchange: of several wakers one pays. acq_rel: the sleeper that sees `awake` sees why.
  const auto state = static_cast<SleepState>(record.sleep.exchange(
      static_cast<std::uint32_t>(SleepState::awake), std::memory_order_acq_rel));
  if (state == SleepState::futex) {
    // release: pairs with the acquire of the sleeper's next look at the word.
    record.wake_word.fetch_add(1, std::memory_order_release);
    futex_wake(record.wake_word);
  } else if (state == SleepState::doorbell) {
    wireup::ring_doorbell(segment, local);
  }
}

Waker::Waker(wireup::Wireup& wireup, int local)
    : segment_(&wireup.segment()),
      peer_(&segment_->local(static_cast<std::uint32_t>(local))),
      local_(static_cast<std::uint32_t>(local)),
      fences_(needs_fence(segment_->local(static_cast<std::uint32_t>(wireup.local_rank())))) {}

void Waker::nudge() const {
  wake_if_asleep(*segment_, local_, *peer_, fences_);
}

}  // namespace tutti::transport
