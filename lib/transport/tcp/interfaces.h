// interfaces: which addresses this host can be reached at, and in which order to try a peer's.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/interface_list.h"
#include "base/result.h"

namespace tutti::transport::tcp {

enum class Family : std::uint8_t { both, ipv4, ipv6 };
Result<Family> family_named(const std::string& name);  // TUTTI_TCP_FAMILY

// One address of a socket: IPv4 or IPv6, with its port in host order.
struct SocketAddress {
  bool is_ipv6 = false;
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4 uses four
  std::uint16_t port = 0;

  socklen_t fill(sockaddr_storage& storage) const;
  static SocketAddress of(const sockaddr_storage& storage);
  bool is_loopback() const;
  std::string text() const;  // 10.0.0.1:4711, [fd00::1]:4711
  bool operator==(const SocketAddress&) const = default;
};

struct Interface {
  SocketAddress address;  // port 0
  int prefix_bits = 0;
  bool is_loopback = false;
  double wire_gbits = 0;           // as its driver says; 0: it does not
  bool is_private_bridge = false;  // of a container engine: the same addresses on every host
};

// Interfaces that are wanted, up and have an address of the family. Loopback ones only when there
// is nothing else; private bridges last. No link-local addresses.
std::vector<Interface> usable_interfaces(Family family, const InterfaceList& wanted = {});

inline constexpr std::size_t kMostAddresses = 4;  // of each family: four interfaces are plenty

// What a rank publishes: at most kMostAddresses of each family.
Blob encode(const std::vector<SocketAddress>& addresses);
Result<std::vector<SocketAddress>> decode(BlobView blob);

// Same subnet as one of ours first, then the rest, each in the order published; of the first ones
// that with this number, counted round and round, leads.
std::vector<SocketAddress> order_candidates(std::vector<SocketAddress> theirs,
                                            const std::vector<Interface>& ours,
                                            std::size_t lead = 0);

}  // namespace tutti::transport::tcp
