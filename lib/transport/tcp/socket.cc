// Sockets: listening, connecting, tuning.
#include "transport/tcp/socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/own_end.h"
#include "base/shortage.h"

namespace tutti::transport::tcp {
namespace {

// no_mem: for want of something that may be there again soon (EADDRNOTAVAIL: a port).
Error last_error(const std::string& what) {
  const bool is_short = is_shortage(errno) || errno == EADDRNOTAVAIL;
  const bool is_away = errno == ENETUNREACH || errno == EHOSTUNREACH || errno == ENETDOWN ||
                       errno == EHOSTDOWN || errno == ETIMEDOUT;
  return Error{is_short  ? Code::no_mem
               : is_away ? Code::pending
                         : Code::other,
               what + std::strerror(errno)};
}

void set(int fd, int level, int option, int value) {
  // Each of these only makes a link better; without it the link still works.
  ::setsockopt(fd, level, option, &value, sizeof value);
}

}  // namespace

Result<UniqueFd> listen_at(const SocketAddress& at, const Congestion& congestion,
                           std::uint16_t& port) {
  UniqueFd fd(
      ::socket(at.is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return tl::unexpected(last_error("socket: "));
  if (at.is_ipv6) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  congestion.begin(fd.get());
  sockaddr_storage storage{};
  socklen_t bytes = at.fill(storage);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) != 0)
    return tl::unexpected(last_error("bind: "));
  if (::listen(fd.get(), 1024) != 0) return tl::unexpected(last_error("listen: "));
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &bytes) != 0)
    return tl::unexpected(last_error("getsockname: "));
  port = SocketAddress::of(storage).port;
  return fd;
}

std::string advice_on_files() {
  rlimit limit{};
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return "raise the limit of open files (ulimit -n" +
         (is_known ? ", now " + std::to_string(limit.rlim_cur) : std::string()) + ")";
}

std::string advice_on_shortage() {
  return "it goes on when something is given back; else " + advice_on_files();
}

Result<UniqueFd> start_connecting(const SocketAddress& address, const Congestion& congestion) {
  UniqueFd fd(::socket(address.is_ipv6 ? AF_INET6 : AF_INET,
                       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return tl::unexpected(last_error("socket: "));
  tune(fd.get());
  congestion.begin(fd.get());
  sockaddr_storage storage{};
  const socklen_t bytes = address.fill(storage);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) != 0 &&
      errno != EINPROGRESS)
    return tl::unexpected(last_error(""));
  return fd;
}

Result<bool> is_connected(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  if (error == 0 && reaches_itself(fd)) error = ECONNREFUSED;
  errno = error;
  if (error != 0) return tl::unexpected(last_error(""));
  sockaddr_storage peer{};
  bytes = sizeof peer;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0;
}

UniqueFd accept_from(int listener, SocketAddress& from) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  UniqueFd fd(::accept4(listener, reinterpret_cast<sockaddr*>(&storage), &bytes,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.is_open()) {
    from = SocketAddress::of(storage);
    tune(fd.get());
  }
  return fd;
}

void tune(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A host that vanished is noticed within 15 s on an idle link. No TCP_USER_TIMEOUT: it would
  // also end links to ranks that compute for long and do not read.
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 6);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

bool send_whole(int fd, BlobView bytes) {
  return ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

ArrivingMessage::State ArrivingMessage::read(int fd, std::size_t wanted) {
  while (got_ < wanted) {
    const ssize_t got = ::recv(fd, bytes_.data() + got_, wanted - got_, MSG_DONTWAIT);
    if (got == 0) return State::ended;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? State::more : State::ended;
    got_ += static_cast<std::size_t>(got);
  }
  return State::whole;
}

}  // namespace tutti::transport::tcp
