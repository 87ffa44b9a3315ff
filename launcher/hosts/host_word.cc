// Reads one host word.
//
// Names end up as an argument of ssh, on terminals and in names of files, so what could be taken
// for an option (a leading dash) or for shell text is refused here, once, for every source of
// hosts.
#include "hosts/host_word.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.h"

namespace tutti::launch::hosts {
namespace {

constexpr std::string_view kLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// '%' names the interface of a link-local address.
constexpr std::string_view kInAddresses = ":%";

bool consists_of(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return kLetters.find(c) != std::string_view::npos || others.find(c) != std::string_view::npos;
  });
}

std::string quoted(std::string_view word) {
  return "'" + std::string(word) + "'";
}

Result<void> check_name(std::string_view name, std::string_view word) {
  if (name.empty()) return fail(Code::arg, quoted(word) + " has no host name");
  if (name.front() == '-')
    return fail(Code::arg, quoted(word) + ": a host name cannot start with '-'");
  if (name.front() == '+')
    return fail(Code::arg, quoted(word) +
                               ": hosts relative to a hostfile are not known here; "
                               "write the host's name");
  if (!is_host_name(name, kInAddresses))
    return fail(Code::arg, quoted(word) +
                               " is not a host name; write host, host:slots, "
                               "user@host or [IPv6 address]:slots");
  return {};
}

struct Parts {
  std::string_view name;
  std::optional<std::string_view> count;
};

// Splits off the count. A bare IPv6 address has several colons and takes no count.
Result<Parts> split_count(std::string_view rest, std::string_view word) {
  if (!rest.empty() && rest.front() == '[') {
    const auto close = rest.find(']');
    if (close == std::string_view::npos)
      return fail(Code::arg, quoted(word) + " has '[' without ']'");
    const std::string_view after = rest.substr(close + 1);
    if (!after.empty() && after.front() != ':')
      return fail(Code::arg, quoted(word) + ": after ']' comes ':slots' or nothing");
    Parts parts{rest.substr(1, close - 1), std::nullopt};
    if (!after.empty()) parts.count = after.substr(1);
    return parts;
  }
  const auto first = rest.find(':');
  if (first == std::string_view::npos) return Parts{rest, std::nullopt};
  if (rest.find(':', first + 1) != std::string_view::npos) {
    in6_addr address{};
    if (::inet_pton(AF_INET6, std::string(rest.substr(0, rest.find('%'))).c_str(), &address) == 1)
      return Parts{rest, std::nullopt};
    return fail(Code::arg, quoted(word) +
                               " is neither host:slots nor an IPv6 address; commas part "
                               "hosts: a:2,b:2");
  }
  return Parts{rest.substr(0, first), rest.substr(first + 1)};
}

}  // namespace

bool is_host_name(std::string_view name, std::string_view others) {
  return !name.empty() && name.front() != '-' && consists_of(name, "._-" + std::string(others));
}

std::optional<int> parse_slots(std::string_view text) {
  const auto value = text::parse_int(text);
  if (!value || *value < 1 || *value > kMostSlots) return std::nullopt;
  return static_cast<int>(*value);
}

Result<HostSlots> parse_host_word(std::string_view word) {
  HostSlots host;
  std::string_view rest = word;
  if (const auto at = word.find('@'); at != std::string_view::npos) {
    host.user = std::string(word.substr(0, at));
    rest = word.substr(at + 1);
    if (host.user.empty() || host.user.front() == '-' || !consists_of(host.user, "._-+\\"))
      return fail(Code::arg, quoted(word) + " has no usable user name before '@'");
  }
  TUTTI_TRY(parts, split_count(rest, word));
  TUTTI_DO(check_name(parts.name, word));
  host.name = std::string(parts.name);
  if (parts.count) {
    const auto slots = parse_slots(*parts.count);
    if (!slots && *parts.count == "*")
      return fail(Code::arg, quoted(word) +
                                 ": '*' is no number of slots; give one, or --map-by "
                                 "node --oversubscribe for any number of ranks");
    if (!slots)
      return fail(Code::arg, quoted(word) + ": " + quoted(*parts.count) +
                                 " is not a number of slots (1 to " + std::to_string(kMostSlots) +
                                 ")");
    host.slots = *slots;
    host.slots_given = true;
  }
  return host;
}

void add_host(Allocation& allocation, const HostSlots& host) {
  allocation.sequence.push_back(host.name);
  for (HostSlots& known : allocation.hosts) {
    if (known.name != host.name) continue;
    known.slots = std::min(kMostSlots, known.slots + host.slots);
    if (host.max_slots != 0)
      known.max_slots = std::min(kMostSlots, known.max_slots + host.max_slots);
    known.slots_given = known.slots_given || host.slots_given;
    if (known.user.empty()) known.user = host.user;
    if (known.port == 0) known.port = host.port;
    return;
  }
  allocation.hosts.push_back(host);
}

}  // namespace tutti::launch::hosts
