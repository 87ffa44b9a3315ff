// The side that hears probes: never blocks, believes nobody without the token.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "daemon/probe.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::size_t kMostCallers = 1024;
constexpr std::chrono::seconds kTokenLimit{10};  // to show the token
constexpr std::chrono::seconds kProbeLimit{60};  // for the rest; a probe takes less than ten

// On every address of both families, or of IPv4 alone where there is no other.
UniqueFd bound_socket(int kind, int* port) {
  UniqueFd fd(::socket(AF_INET6, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int both = 0;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<std::uint16_t>(*port));
  socklen_t length = sizeof six;
  if (fd.is_open() && ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both) == 0 &&
      ::bind(fd.get(), reinterpret_cast<sockaddr*>(&six), length) == 0 &&
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&six), &length) == 0) {
    *port = ntohs(six.sin6_port);
    return fd;
  }
  fd.reset(::socket(AF_INET, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<std::uint16_t>(*port));
  length = sizeof four;
  if (fd.is_open() && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&four), length) == 0 &&
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&four), &length) == 0) {
    *port = ntohs(four.sin_port);
    return fd;
  }
  return UniqueFd();
}

}  // namespace

ProbeListener::~ProbeListener() {
  while (!callers_.empty()) drop(callers_.begin()->first);
  door_.close();
  if (packets_.is_open()) loop_.forget(packets_.get());
}

int ProbeListener::listen(int host, const std::string& token) {
  if (stream_.is_open() || token.size() != kTokenBytes) return 0;
  host_ = host;
  token_ = token;
  int port = 0;
  stream_ = bound_socket(SOCK_STREAM, &port);
  if (!stream_.is_open() || ::listen(stream_.get(), 64) != 0) return 0;
  packets_ = bound_socket(SOCK_DGRAM, &port);  // without it packets are not answered, no more
  door_.open(
      stream_.get(), [this](UniqueFd fd) { let_in(std::move(fd)); },
      [this] { return make_room(); });
  if (packets_.is_open()) loop_.on_readable(packets_.get(), [this] { answer_packet(); });
  return port;
}

void ProbeListener::let_in(UniqueFd fd) {
  if (callers_.size() >= kMostCallers && !make_room()) return;
  const int number = fd.get();
  Caller& caller = callers_[number];
  caller.fd = std::move(fd);
  caller.limit = loop_.after(kTokenLimit, [this, number] { drop(number); });
  loop_.on_readable(number, [this, number] { hear(number); });
}

// Somebody who has not shown the token leaves.
bool ProbeListener::make_room() {
  for (const auto& [fd, caller] : callers_)
    if (caller.head.size() < kTokenBytes) return drop(fd), true;
  return false;
}

void ProbeListener::drop(int fd) {
  loop_.cancel(callers_.at(fd).limit);
  loop_.forget(fd);
  callers_.erase(fd);
}

// The token is whole: ours?
bool ProbeListener::greet(Caller& caller) {
  if (caller.head.compare(0, kTokenBytes, token_) != 0) return false;
  caller.bytes = caller.head.size() - kTokenBytes;
  const std::int64_t me = host_;
  loop_.cancel(caller.limit);
  caller.limit = loop_.after(kProbeLimit, [this, fd = caller.fd.get()] { drop(fd); });
  return ::send(caller.fd.get(), &me, sizeof me, MSG_NOSIGNAL) == sizeof me;
}

void ProbeListener::hear(int fd) {
  static std::array<char, 256U << 10> buffer;
  Caller& caller = callers_.at(fd);
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  bool stays = got > 0;
  if (got > 0 && caller.head.size() >= kTokenBytes) {
    caller.bytes += static_cast<std::uint64_t>(got);
  } else if (got > 0) {
    caller.head.append(buffer.data(), static_cast<std::size_t>(got));
    if (caller.head.size() >= kTokenBytes) stays = greet(caller);
  } else if (got == 0 && caller.head.size() >= kTokenBytes) {
    (void)::send(fd, &caller.bytes, sizeof caller.bytes, MSG_NOSIGNAL);
  }
  if (!stays) drop(fd);
}

void ProbeListener::answer_packet() {
  std::array<char, 1024> buffer;
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  const ssize_t got = ::recvfrom(packets_.get(), buffer.data(), buffer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
  constexpr std::size_t kNumber = sizeof(std::uint64_t);
  if (got < static_cast<ssize_t>(kTokenBytes + kNumber)) return;
  if (std::memcmp(buffer.data(), token_.data(), kTokenBytes) != 0) return;
  (void)::sendto(packets_.get(), buffer.data() + kTokenBytes, kNumber, MSG_NOSIGNAL,
                 reinterpret_cast<sockaddr*>(&from), length);
}

}  // namespace tutti::launch::daemon
