// Interfaces of this host and addresses as bytes.
//
// An address blob is | count | entries |, an entry | family 4 or 6 | port, 2 bytes | address |.
#include "transport/tcp/interfaces.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "base/unique_fd.h"

namespace tutti::transport::tcp {
namespace {

int bits_of(const SocketAddress& mask) {
  int bits = 0;
  for (const std::uint8_t byte : mask.bytes) bits += std::popcount(byte);
  return bits;
}

bool is_link_local(const SocketAddress& address) {
  if (address.is_ipv6) return address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
  return address.bytes[0] == 169 && address.bytes[1] == 254;
}

bool is_bridge_of_containers(std::string_view name) {
  return name.starts_with("docker") || name.starts_with("virbr") || name.starts_with("br-") ||
         name.starts_with("podman") || name.starts_with("cni") || name.starts_with("lxc");
}

bool is_same_subnet(const SocketAddress& theirs, const Interface& own) {
  return theirs.is_ipv6 == own.address.is_ipv6 &&
         tutti::is_same_subnet(theirs.bytes.data(), own.address.bytes.data(), own.prefix_bits);
}

sockaddr_storage storage_of(const sockaddr* address, std::size_t bytes) {
  sockaddr_storage storage{};
  std::memcpy(&storage, address, bytes);
  return storage;
}

double wire_gbits(const std::string& name) {
  const UniqueFd file(::open(("/sys/class/net/" + name + "/speed").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 32> text{};
  if (!file.is_open() || ::read(file.get(), text.data(), text.size() - 1) <= 0) return 0;
  const auto megabits = text::parse_int(text::trim(text.data()));
  return megabits.value_or(0) > 0 ? static_cast<double>(*megabits) / 1000 : 0;  // -1: not known
}

// Empty when the entry is not one that can be used.
std::vector<Interface> interface_in(const ifaddrs& entry, Family family,
                                    const InterfaceList& wanted) {
  if (entry.ifa_addr == nullptr || entry.ifa_netmask == nullptr) return {};
  if ((entry.ifa_flags & IFF_UP) == 0 || (entry.ifa_flags & IFF_RUNNING) == 0) return {};
  const bool is_ipv4 = entry.ifa_addr->sa_family == AF_INET && family != Family::ipv6;
  const bool is_ipv6 = entry.ifa_addr->sa_family == AF_INET6 && family != Family::ipv4;
  if (!is_ipv4 && !is_ipv6) return {};
  if (!wanted.takes(entry.ifa_name, entry.ifa_addr)) return {};
  const std::size_t bytes = is_ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  Interface found;
  found.address = SocketAddress::of(storage_of(entry.ifa_addr, bytes));
  auto mask = storage_of(entry.ifa_netmask, bytes);
  mask.ss_family = entry.ifa_addr->sa_family;  // some masks come without
  found.prefix_bits = bits_of(SocketAddress::of(mask));
  found.is_loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
  found.wire_gbits = wire_gbits(entry.ifa_name);
  found.is_private_bridge = is_bridge_of_containers(entry.ifa_name);
  if (is_link_local(found.address)) return {};
  return {found};
}

}  // namespace

Result<Family> family_named(const std::string& name) {
  if (name == "auto") return Family::both;
  if (name == "ipv4") return Family::ipv4;
  if (name == "ipv6") return Family::ipv6;
  return fail(Code::arg, "TUTTI_TCP_FAMILY=" + name + " is none of auto, ipv4, ipv6");
}

socklen_t SocketAddress::fill(sockaddr_storage& storage) const {
  storage = {};
  if (is_ipv6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    std::memcpy(&address.sin6_addr, bytes.data(), 16);
    std::memcpy(&storage, &address, sizeof address);
    return sizeof address;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  std::memcpy(&address.sin_addr, bytes.data(), 4);
  std::memcpy(&storage, &address, sizeof address);
  return sizeof address;
}

SocketAddress SocketAddress::of(const sockaddr_storage& storage) {
  SocketAddress result;
  result.is_ipv6 = storage.ss_family == AF_INET6;
  if (result.is_ipv6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof address);
    result.port = ntohs(address.sin6_port);
    std::memcpy(result.bytes.data(), &address.sin6_addr, 16);
  } else {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
    result.port = ntohs(address.sin_port);
    std::memcpy(result.bytes.data(), &address.sin_addr, 4);
  }
  return result;
}

bool SocketAddress::is_loopback() const {
  constexpr std::uint8_t kLoopbackNet = 127;  // 127.0.0.0/8
  return is_ipv6 ? std::memcmp(bytes.data(), &in6addr_loopback, bytes.size()) == 0
                 : bytes[0] == kLoopbackNet;
}

std::string SocketAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> name{};
  ::inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, bytes.data(), name.data(), name.size());
  const std::string host = is_ipv6 ? "[" + std::string(name.data()) + "]" : name.data();
  return host + ":" + std::to_string(port);
}

std::vector<Interface> usable_interfaces(Family family, const InterfaceList& wanted) {
  std::vector<Interface> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
    for (Interface& each : interface_in(*entry, family, wanted)) all.push_back(each);
  ::freeifaddrs(list);
  const auto is_outside = [](const Interface& each) { return !each.is_loopback; };
  if (std::any_of(all.begin(), all.end(), is_outside))
    std::erase_if(all, [](const Interface& each) { return each.is_loopback; });
  std::stable_sort(all.begin(), all.end(), [](const Interface& a, const Interface& b) {
    const auto weight = [](const Interface& each) {
      return (each.is_private_bridge ? 2 : 0) + (each.address.is_ipv6 ? 1 : 0);
    };
    return weight(a) < weight(b);
  });
  return all;
}

Blob encode(const std::vector<SocketAddress>& addresses) {
  Blob blob(1);
  std::size_t used[2] = {0, 0};
  std::uint8_t count = 0;
  for (const SocketAddress& each : addresses) {
    if (used[each.is_ipv6 ? 1 : 0]++ >= kMostAddresses) continue;
    blob.push_back(std::byte{static_cast<std::uint8_t>(each.is_ipv6 ? 6 : 4)});
    blob.push_back(static_cast<std::byte>(each.port >> 8));
    blob.push_back(static_cast<std::byte>(each.port & 0xff));
    const auto bytes = std::as_bytes(std::span(each.bytes));
    blob.insert(blob.end(), bytes.begin(), bytes.begin() + (each.is_ipv6 ? 16 : 4));
    ++count;
  }
  blob[0] = std::byte{count};
  return blob;
}

Result<std::vector<SocketAddress>> decode(BlobView blob) {
  const auto bad = [] { return fail(Code::other, "an address that is no tcp address"); };
  if (blob.empty()) return bad();
  const auto count = std::to_integer<std::size_t>(blob[0]);
  blob = blob.subspan(1);
  std::vector<SocketAddress> addresses;
  for (std::size_t i = 0; i < count; ++i) {
    if (blob.size() < 3) return bad();
    SocketAddress each;
    const int family = std::to_integer<int>(blob[0]);
    if (family != 4 && family != 6) return bad();
    each.is_ipv6 = family == 6;
    each.port = static_cast<std::uint16_t>(std::to_integer<int>(blob[1]) << 8 |
                                           std::to_integer<int>(blob[2]));
    const std::size_t bytes = each.is_ipv6 ? 16 : 4;
    if (blob.size() < 3 + bytes) return bad();
    std::memcpy(each.bytes.data(), blob.data() + 3, bytes);
    addresses.push_back(each);
    blob = blob.subspan(3 + bytes);
  }
  return addresses;
}

std::vector<SocketAddress> order_candidates(std::vector<SocketAddress> theirs,
                                            const std::vector<Interface>& ours, std::size_t lead) {
  const auto near =
      std::stable_partition(theirs.begin(), theirs.end(), [&ours](const SocketAddress& each) {
        return std::any_of(ours.begin(), ours.end(), [&each](const Interface& own) {
          return !own.is_private_bridge && is_same_subnet(each, own);
        });
      });
  if (const std::ptrdiff_t count = near - theirs.begin(); count > 0)
    std::rotate(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(lead) % count, near);
  return theirs;
}

}  // namespace tutti::transport::tcp
