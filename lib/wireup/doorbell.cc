// Datagram sockets with abstract names.
#include "wireup/doorbell.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstdio>

namespace tutti::wireup {
namespace {

constexpr int kMostRings = 8;

struct DoorbellName {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

// Abstract: begins with a zero byte and ends where its length says. Network namespaces of
// virtual hosts keep hosts apart; the host's number does it for ranks in threads. A child of the
// program before may hold that one's still: each generation has its own.
DoorbellName doorbell_name(const Segment& segment, std::uint32_t local) {
  const SegmentHeader& header = segment.header();
  DoorbellName name;
  name.address.sun_family = AF_UNIX;
  const int length = std::snprintf(
      name.address.sun_path + 1, sizeof name.address.sun_path - 1, "tutti-%016llx-%u-%u-%u",
      static_cast<unsigned long long>(header.job_id), header.this_host, local, header.generation);
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                      static_cast<std::size_t>(length));
  return name;
}

}  // namespace

UniqueFd open_doorbell(const Segment& segment, std::uint32_t local) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const DoorbellName name = doorbell_name(segment, local);
  if (!fd.is_open() ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) != 0)
    return UniqueFd();
  return fd;
}

void ring_doorbell(const Segment& segment, std::uint32_t local) {
  const UniqueFd from(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!from.is_open()) return;  // out of descriptors: the sleeper's time limit wakes it
  const DoorbellName name = doorbell_name(segment, local);
  const char one = 1;
  // A full queue wakes it as well, a closed one belongs to a rank that is leaving.
  [[maybe_unused]] const auto sent =
      ::sendto(from.get(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&name.address), name.bytes);
}

void drain_doorbell(int fd) {
  std::array<char, 16> waste{};
  // Anybody of this machine may ring: so many at a time, and what is left wakes again.
  for (int rings = 0; rings < kMostRings; ++rings)
    if (::recv(fd, waste.data(), waste.size(), MSG_DONTWAIT) < 0) return;
}

}  // namespace tutti::wireup
