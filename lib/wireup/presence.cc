#include "wireup/presence.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/clock.h"

namespace tutti::wireup {
namespace {

constexpr std::int64_t kBetweenNs = 1'000'000'000;

struct flock byte_of(std::uint32_t local) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = local;
  lock.l_len = 1;
  return lock;
}

// Asked as an open file's lock, which conflicts with those of processes, our own among them.
bool is_held(int fd, std::uint32_t local) {
  struct flock lock = byte_of(local);
  return ::fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool runs(const Segment& segment, std::uint32_t local) {
  // acquire: what it did before it finalized is known here, that it still held the lock then too.
  return segment.local(local).state.load(std::memory_order_acquire) ==
         static_cast<std::uint32_t>(RankState::running);
}

}  // namespace

Result<void> Presence::hold(const Segment& segment, std::uint32_t local) {
  struct flock lock = byte_of(local);
  if (::fcntl(segment.fd(), F_SETLK, &lock) == 0) return {};
  return fail(Code::other, std::string("cannot lock this rank's byte of the job segment: ") +
                               std::strerror(errno));
}

void Presence::look(const Segment& segment) {
  const std::int64_t now = now_ns();
  // relaxed: two that look at once find the same.
  if (now < next_ns_.load(std::memory_order_relaxed)) return;
  next_ns_.store(now + kBetweenNs, std::memory_order_relaxed);
  for (std::uint32_t local = 0; local < segment.header().local_ranks; ++local) {
    // Asked for its state last: who finalizes says so before it lets go.
    if (!runs(segment, local) || is_held(segment.fd(), local) || !runs(segment, local)) continue;
    RankRecord& record = segment.rank(static_cast<std::uint32_t>(segment.rank_of(local)));
    record.gone.store(1, std::memory_order_release);  // as a daemon does
  }
}

}  // namespace tutti::wireup
