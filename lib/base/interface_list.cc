#include "base/interface_list.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace tutti {
namespace {

constexpr std::string_view kForm =
    " is no list of interfaces: names or subnets such as eth0,10.1.0.0/16, or ^ and those not to "
    "use";

const std::uint8_t* bytes_of(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return reinterpret_cast<const std::uint8_t*>(
        &reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  return reinterpret_cast<const std::uint8_t*>(
      &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

}  // namespace

bool is_same_subnet(const std::uint8_t* a, const std::uint8_t* b, int bits) {
  for (int bit = 0; bit < bits; bit += 8) {
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - std::min(8, bits - bit)));
    if (((a[bit / 8] ^ b[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

Result<InterfaceList::Word> InterfaceList::word_of(const std::string& text) {
  const auto bad = [&text] { return fail(Code::arg, "'" + text + "'" + std::string(kForm)); };
  Word word;
  const auto slash = text.find('/');
  const std::string address = text.substr(0, slash);
  for (const int family : {AF_INET, AF_INET6})
    if (::inet_pton(family, address.c_str(), word.subnet.data()) == 1) word.family = family;
  if (word.family != 0) {
    const int all = word.family == AF_INET ? 32 : 128;
    const auto bits = slash == std::string::npos ? all : text::parse_int(text.substr(slash + 1));
    if (!bits || *bits < 0 || *bits > all) return bad();
    word.bits = static_cast<int>(*bits);
    return word;
  }
  word.is_whole = text.starts_with('=');
  word.name = text.substr(word.is_whole ? 1 : 0);
  if (word.name.empty() || word.name.find_first_of("^=/ \t") != std::string::npos) return bad();
  word.is_whole = word.is_whole || (word.name.back() >= '0' && word.name.back() <= '9');
  return word;
}

Result<InterfaceList> InterfaceList::parse(const std::string& text) {
  InterfaceList list;
  std::string words = text;
  list.excludes_ = words.starts_with('^');
  if (list.excludes_) words.erase(0, 1);
  for (const std::string& one : text::split(words, ',')) {
    const std::string word(text::trim(one));
    if (word.empty()) continue;
    TUTTI_TRY(known, word_of(word));
    list.words_.push_back(std::move(known));
  }
  if (list.words_.empty() && list.excludes_)
    return fail(Code::arg, "'" + text + "'" + std::string(kForm));
  return list;
}

bool InterfaceList::fits(const Word& word, std::string_view name, const sockaddr* address) {
  if (word.name.empty())
    return word.family == address->sa_family &&
           is_same_subnet(word.subnet.data(), bytes_of(address), word.bits);
  return word.is_whole ? name == word.name : name.starts_with(word.name);
}

bool InterfaceList::takes(std::string_view name, const sockaddr* address) const {
  const bool named = std::any_of(words_.begin(), words_.end(),
                                 [&](const Word& word) { return fits(word, name, address); });
  return words_.empty() || named != excludes_;
}

void each_address(const InterfaceList& wanted,
                  const std::function<void(const char* name, const sockaddr* address)>& take) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & IFF_UP) == 0 || one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if ((family == AF_INET || family == AF_INET6) && wanted.takes(one->ifa_name, one->ifa_addr))
      take(one->ifa_name, one->ifa_addr);
  }
  ::freeifaddrs(all);
}

}  // namespace tutti
