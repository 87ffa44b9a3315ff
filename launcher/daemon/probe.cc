// The side that sends probes: connects, measures the longest packet and the rate. Blocks; it runs
// in a child of the daemon.
#include "daemon/probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/clock.h"

namespace tutti::launch::daemon {
namespace {

constexpr int kConnectMs = 1500;
constexpr int kEchoMs = 150;        // where shorter packets have come back sooner
constexpr int kFirstEchoMs = 1000;  // the other side may be busy
constexpr int kStallMs = 4000;
constexpr std::int64_t kSendNs = 60'000'000;
constexpr std::uint64_t kMostBytes = 64U << 20;
constexpr int kTries = 3;
constexpr int kSendBuffer = 256 << 10;

struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
  int family() const { return bytes.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

std::optional<Address> address_of(const std::string& text, int port) {
  Address out;
  auto* four = reinterpret_cast<sockaddr_in*>(&out.bytes);
  auto* six = reinterpret_cast<sockaddr_in6*>(&out.bytes);
  if (::inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<std::uint16_t>(port));
    out.length = sizeof *four;
    return out;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) != 1) return {};
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(static_cast<std::uint16_t>(port));
  out.length = sizeof *six;
  return out;
}

bool ready(int fd, short what, int limit_ms) {
  pollfd one{fd, what, 0};
  return ::poll(&one, 1, limit_ms) > 0;
}

// From that address to this one; errno says why not.
UniqueFd connected(int kind, const Address& from, const Address& to) {
  UniqueFd fd(::socket(to.family(), kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return fd;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  int error = 0;
  if (::bind(fd.get(), from.get(), from.length) != 0 ||
      (::connect(fd.get(), to.get(), to.length) != 0 && errno != EINPROGRESS)) {
    error = errno;
  } else if (kind == SOCK_STREAM) {
    socklen_t length = sizeof error;
    if (!ready(fd.get(), POLLOUT, kConnectMs))
      error = ETIMEDOUT;
    else
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error != 0) fd.reset();
  errno = error;
  return fd;
}

// A packet of so many bytes comes back as its number; some tries. 0: it never did.
std::int64_t echo_ns(int fd, const std::string& token, std::size_t bytes) {
  std::string packet(std::max(bytes, kTokenBytes + sizeof(std::uint64_t)), '.');
  std::copy(token.begin(), token.end(), packet.begin());
  std::int64_t best = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t number = bytes * kTries + static_cast<std::uint64_t>(i);
    std::memcpy(packet.data() + kTokenBytes, &number, sizeof number);
    const std::int64_t began = now_ns();
    if (::send(fd, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return 0;
    std::uint64_t back = 0;
    while (ready(fd, POLLIN, bytes == 0 ? kFirstEchoMs : kEchoMs) &&
           ::recv(fd, &back, sizeof back, 0) > 0 && back != number) {
    }
    if (back != number) continue;
    const std::int64_t took = std::max<std::int64_t>(now_ns() - began, 1);
    best = best == 0 ? took : std::min(best, took);
    if (bytes > 0) return best;  // one is proof enough
  }
  return best;
}

// The longest packet that arrives whole, tried from the interfaces' own down to the least.
void measure_packets(const control::Probe& wish, const Address& from, const Address& to,
                     control::ProbedPair& pair) {
  const UniqueFd fd = connected(SOCK_DGRAM, from, to);
  if (!fd.is_open()) return;
  const bool four = to.family() == AF_INET;
  const int whole = four ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
  ::setsockopt(fd.get(), four ? IPPROTO_IP : IPPROTO_IPV6,
               four ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &whole, sizeof whole);
  const std::int64_t trip = echo_ns(fd.get(), wish.token, 0);
  if (trip == 0) return;  // no UDP here: TCP says what it found
  pair.round_trip_us = static_cast<double>(trip) / 1000;
  const int headers = four ? 28 : 48;
  const int most = std::min({pair.from.mtu, pair.to.mtu, 65000});
  for (const int size : {most, 8000, 4000, 1500, 1492, 1450, 1400, 1280, 576}) {
    if (size > most) continue;
    if (echo_ns(fd.get(), wish.token, static_cast<std::size_t>(size - headers)) == 0) continue;
    pair.mtu = size;
    return;
  }
}

bool receive_number(int fd, std::int64_t* number) {
  return ready(fd, POLLIN, kStallMs) && ::recv(fd, number, sizeof *number, 0) == sizeof *number;
}

// Sends for a while; the rate counts what has arrived.
void measure_rate(int fd, control::ProbedPair& pair) {
  static const std::string block(128U << 10, 'x');
  const std::int64_t began = now_ns();
  std::uint64_t sent = 0;
  while (now_ns() - began < kSendNs && sent < kMostBytes) {
    const ssize_t put = ::send(fd, block.data(), block.size(), MSG_NOSIGNAL);
    if (put > 0) sent += static_cast<std::uint64_t>(put);
    if (put < 0 && errno != EAGAIN) break;
    if (put < 0) ready(fd, POLLOUT, 20);
  }
  ::shutdown(fd, SHUT_WR);
  std::int64_t arrived = 0;
  if (!receive_number(fd, &arrived) || static_cast<std::uint64_t>(arrived) != sent) {
    // Where long packets are lost that is the reason, and told.
    if (pair.mtu == 0 || pair.mtu >= std::min(pair.from.mtu, pair.to.mtu))
      pair.problem = "connects, but what is sent does not arrive";
    return;
  }
  pair.bytes_per_s = static_cast<double>(sent) * 1e9 / static_cast<double>(now_ns() - began);
}

void probe(const control::Probe& wish, control::ProbedPair& pair) {
  const auto from = address_of(pair.from.address, 0);
  const auto to = address_of(pair.to.address, wish.port);
  if (!from || !to) {
    pair.problem = "is no address";
    return;
  }
  const UniqueFd fd = connected(SOCK_STREAM, *from, *to);
  if (!fd.is_open()) {
    pair.problem = std::strerror(errno);
    return;
  }
  std::int64_t who = -1;
  if (::send(fd.get(), wish.token.data(), wish.token.size(), MSG_NOSIGNAL) < 0 ||
      !receive_number(fd.get(), &who)) {
    pair.problem = "connects, but somebody else answers";
    return;
  }
  pair.reached = static_cast<int>(who);
  if (pair.reached != wish.to) return;
  measure_packets(wish, *from, *to, pair);
  measure_rate(fd.get(), pair);
  tcp_info info{};
  socklen_t length = sizeof info;
  if (pair.mtu == 0 && ::getsockopt(fd.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
    pair.mtu = static_cast<int>(info.tcpi_pmtu);
}

}  // namespace

control::Probed send_probes(const control::Probe& wish) {
  control::Probed answer;
  answer.to = wish.to;
  for (const control::InterfaceAddress& from : wish.mine) {
    for (const control::InterfaceAddress& to : wish.theirs) {
      const bool six = from.address.find(':') != std::string::npos;
      if (six != (to.address.find(':') != std::string::npos)) continue;
      control::ProbedPair& pair = answer.pairs.emplace_back();
      pair.from = from;
      pair.to = to;
      probe(wish, pair);
    }
  }
  return answer;
}

}  // namespace tutti::launch::daemon
