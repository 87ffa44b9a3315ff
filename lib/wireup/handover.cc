// One connection per taker, one descriptor each. Strangers (of another user) get nothing.
#include "wireup/handover.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/clock.h"
#include "base/pass_fd.h"
#include "base/shortage.h"
#include "base/socket_peer.h"

namespace tutti::wireup {
namespace {

constexpr std::int64_t kLimitNs = 60'000'000'000;
constexpr useconds_t kRestUs = 100'000;

struct Address {
  sockaddr_un at{};
  socklen_t length = 0;
};

Address address_of(const std::string& name) {
  Address address;
  address.at.sun_family = AF_UNIX;  // sun_path[0] stays 0: abstract
  const std::size_t bytes = std::min(name.size(), sizeof address.at.sun_path - 1);
  std::memcpy(address.at.sun_path + 1, name.data(), bytes);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return address;
}

tl::unexpected<Error> failed(const char* what) {
  return fail(Code::other, std::string("cannot ") + what +
                               " the job segment of this host: " + std::strerror(errno));
}

}  // namespace

Result<void> hand_out(const std::string& name, int fd, int takers) {
  if (takers == 0) return {};
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = address_of(name);
  if (!listener.is_open() ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.at), address.length) != 0 ||
      ::listen(listener.get(), 1024) != 0)
    return failed("offer");
  const std::int64_t deadline = now_ns() + kLimitNs;
  while (takers > 0) {
    if (now_ns() > deadline)
      return fail(Code::other, std::to_string(takers) +
                                   " ranks of this host did not come for the job segment in 60 s");
    pollfd look{listener.get(), POLLIN, 0};
    if (::poll(&look, 1, 1000) <= 0) continue;
    const UniqueFd taker(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!taker.is_open() && is_shortage(errno)) ::usleep(kRestUs);
    if (taker.is_open() && is_of_own_user(taker.get()) && send_with_fd(taker.get(), "1", fd))
      --takers;
  }
  return {};
}

Result<UniqueFd> take_from(const std::string& name, std::chrono::seconds limit) {
  const Address address = address_of(name);
  const std::int64_t deadline = now_ns() + std::chrono::nanoseconds(limit).count();
  for (;;) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) return failed("take");
    const timeval longest{limit.count(), 0};  // for one who listens and says nothing
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.at), address.length) ==
        0) {
      if (!is_of_own_user(socket.get()))
        return fail(Code::access, "another user offers a job segment");
      char byte = 0;
      UniqueFd fd;
      if (receive_with_fd(socket.get(), &byte, 1, &fd) == 1 && fd.is_open()) return fd;
    }
    if (now_ns() > deadline)
      return fail(Code::other, "the lowest rank of this host offered no job segment in " +
                                   std::to_string(limit.count()) + " s");
    ::usleep(2000);
  }
}

}  // namespace tutti::wireup
