// Which interface leads to another host, as this one's routes say. Nothing is sent.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>

#include "base/interface_list.h"
#include "base/unique_fd.h"
#include "daemon/rank_env.h"

namespace tutti::launch::daemon {
namespace {

// The address that this host's packets to `address` come from.
template <class Address>
bool own_address_towards(int family, Address& there, void* binary, const std::string& address,
                         Address* own) {
  if (::inet_pton(family, address.c_str(), binary) != 1) return false;
  const UniqueFd probe(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  socklen_t length = sizeof *own;
  return probe.is_open() &&
         ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 &&
         ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(own), &length) == 0;
}

std::string name_of(int family, const void* binary, std::size_t bytes, std::size_t offset) {
  std::string found;
  each_address({}, [&](const char* name, const sockaddr* address) {
    const auto* const whole = reinterpret_cast<const char*>(address);
    if (found.empty() && address->sa_family == family &&
        std::memcmp(whole + offset, binary, bytes) == 0)
      found = name;
  });
  return found;
}

}  // namespace

std::string interface_towards(const std::string& address) {
  constexpr std::uint16_t kAnyPort = 9;  // connect() wants one
  sockaddr_in there{}, own{};
  there.sin_family = AF_INET;
  there.sin_port = htons(kAnyPort);
  if (own_address_towards(AF_INET, there, &there.sin_addr, address, &own))
    return name_of(AF_INET, &own.sin_addr, sizeof own.sin_addr, offsetof(sockaddr_in, sin_addr));
  sockaddr_in6 there6{}, own6{};
  there6.sin6_family = AF_INET6;
  there6.sin6_port = htons(kAnyPort);
  if (own_address_towards(AF_INET6, there6, &there6.sin6_addr, address, &own6))
    return name_of(AF_INET6, &own6.sin6_addr, sizeof own6.sin6_addr,
                   offsetof(sockaddr_in6, sin6_addr));
  return {};
}

}  // namespace tutti::launch::daemon
