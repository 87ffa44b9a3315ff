// Writing to the job segment for the ranks, and waking them.
//
// Every store that a rank may be waiting for is followed by a bump of the word it sleeps on, then
// by a futex wake: a rank that looked before the store sleeps on the old value and is woken; one
// that looks after it does not sleep.
#include "daemon/store.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "wireup/doorbell.h"

namespace tutti::launch::daemon {
namespace {

void wake(std::atomic<std::uint32_t>& word) {
  // release: pairs with the acquire load of whoever wakes and looks at what was stored before.
  word.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wake_local_ranks(const wireup::Segment& segment) {
  wake(segment.header().addresses_epoch);
  // Pairs with the sleeper's heavy_fence: it sees what we stored, or we see that it sleeps.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < segment.layout().local_ranks; ++i) {
    wake(segment.local(i).wake_word);
    // relaxed: ordered by the fence above.
    const std::uint32_t state = segment.local(i).sleep.load(std::memory_order_relaxed);
    if (state == static_cast<std::uint32_t>(wireup::SleepState::doorbell))
      wireup::ring_doorbell(segment, i);
  }
}

}  // namespace

void publish_address(const wireup::Segment& segment, int rank, std::string_view address) {
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= segment.layout().ranks) return;
  wireup::RankRecord& record = segment.rank(static_cast<std::uint32_t>(rank));
  const std::size_t bytes = std::min(address.size(), wireup::kAddressBytes);
  std::memcpy(record.address, address.data(), bytes);
  record.address_bytes = static_cast<std::uint32_t>(bytes);
  // release: pairs with the acquire load in Wireup::get, which then reads the bytes.
  record.ready.store(1, std::memory_order_release);
  wake(segment.header().addresses_epoch);
}

void publish_end(const wireup::Segment& segment, int rank, ProcessEnd end, bool anyone_listens) {
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= segment.layout().ranks) return;
  wireup::RankRecord& record = segment.rank(static_cast<std::uint32_t>(rank));
  // Nobody sleeps until then: who wants to reach it asks from time to time.
  if (end == ProcessEnd::orderly) return record.left.store(1, std::memory_order_relaxed);
  // release: pairs with the acquire loads of ranks that wait for this one.
  record.gone.store(1, std::memory_order_release);
  if (anyone_listens) wake_local_ranks(segment);
}

void publish_abort(const wireup::Segment& segment) {
  wake(segment.header().aborted);
  wake_local_ranks(segment);
}

}  // namespace tutti::launch::daemon
