// Sleep words, membarrier, futexes and doorbells.
#include "transport/wake.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <ctime>

#include "transport/transport.h"
#include "wireup/wireup.h"

namespace tutti::transport {
namespace {

using wireup::SleepState;

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

// Abstract: begins with a zero byte and ends where its length says. Network namespaces of
// virtual hosts keep hosts apart; the host's number does it for ranks in threads.
Name doorbell_name(const wireup::Segment& segment, std::uint32_t local) {
  const wireup::SegmentHeader& header = segment.header();
  Name name;
  name.address.sun_family = AF_UNIX;
  const int length = std::snprintf(
      name.address.sun_path + 1, sizeof name.address.sun_path - 1, "tutti-%016llx-%u-%u",
      static_cast<unsigned long long>(header.job_id), header.this_host, local);
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                      static_cast<std::size_t>(length));
  return name;
}

void ring_doorbell(const wireup::Segment& segment, std::uint32_t local) {
  const UniqueFd from(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!from.is_open()) return;  // out of descriptors: the sleeper's time limit wakes it
  const Name name = doorbell_name(segment, local);
  const char one = 1;
  // A full queue wakes it as well, a closed one belongs to a rank that is leaving.
  [[maybe_unused]] const auto sent =
      ::sendto(from.get(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&name.address), name.bytes);
}

long membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

void register_barriers(wireup::LocalRecord& own) {
  const bool works = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
  own.first_contact[kHasBarriers] = works ? 1 : 0;
}

void heavy_fence(const wireup::LocalRecord& own) {
  if (!needs_fence(own)) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with wake_if_asleep's
}

void futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen, int limit_ms) {
  const timespec limit{limit_ms / 1000, (limit_ms % 1000) * 1'000'000L};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
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
    ring_doorbell(segment, local);
  }
}

UniqueFd open_doorbell(const wireup::Segment& segment, std::uint32_t local) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const Name name = doorbell_name(segment, local);
  if (!fd.is_open() ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) != 0)
    return UniqueFd();
  return fd;
}

void drain_doorbell(int fd) {
  std::array<char, 16> waste{};
  while (::recv(fd, waste.data(), waste.size(), MSG_DONTWAIT) > 0) {
  }
}

void nudge(wireup::Wireup& wireup, int local) {
  const wireup::Segment& segment = wireup.segment();
  const auto at = static_cast<std::uint32_t>(local);
  const auto own = static_cast<std::uint32_t>(wireup.local_rank());
  wake_if_asleep(segment, at, segment.local(at), needs_fence(segment.local(own)));
}

}  // namespace tutti::transport
