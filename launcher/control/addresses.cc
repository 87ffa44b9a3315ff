#include "control/addresses.h"

#include <netdb.h>
#include <netinet/in.h>

#include <array>

#include "base/interface_list.h"
#include "base/printable.h"

namespace tutti::launch::control {

std::string address_text(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text{};
  const socklen_t length =
      address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  ::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

namespace {

std::vector<std::string> addresses_of(const InterfaceList& wanted) {
  std::vector<std::string> own;
  each_address(wanted, [&own](const char*, const sockaddr* address) {
    own.push_back(address_text(address));
  });
  return own;
}

}  // namespace

std::vector<std::string> own_addresses() {
  return addresses_of({});
}

std::string address_among(const std::string& interfaces) {
  const auto wanted = InterfaceList::parse(interfaces);
  if (!wanted || wanted->is_empty()) return "";
  for (const std::string& one : addresses_of(*wanted))
    if (!one.starts_with("127.") && one != "::1" && one.find('%') == std::string::npos) return one;
  return "";
}

std::string none_among(const std::string& interfaces) {
  const auto wanted = InterfaceList::parse(interfaces);
  if (!wanted || wanted->is_empty() || !addresses_of(*wanted).empty()) return "";
  std::string here;
  each_address({}, [&here](const char* name, const sockaddr*) {
    if ((", " + here + ", ").find(", " + std::string(name) + ", ") != std::string::npos) return;
    here += (here.empty() ? "" : ", ") + std::string(name);
  });
  return "no interface here is one of " + text::printable(interfaces) +
         " (TUTTI_INTERFACES, --interfaces); there are: " + (here.empty() ? "none" : here);
}

}  // namespace tutti::launch::control
