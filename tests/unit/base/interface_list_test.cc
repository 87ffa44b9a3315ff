// Which interfaces a list takes.
#include "base/interface_list.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "base/knobs.h"
#include "catch.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test of one namespace

namespace {

bool takes(const std::string& list, const char* name, const char* address) {
  sockaddr_storage storage{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  storage.ss_family = AF_INET;
  if (::inet_pton(AF_INET, address, &v4->sin_addr) != 1) {
    storage.ss_family = AF_INET6;
    REQUIRE(::inet_pton(AF_INET6, address, &v6->sin6_addr) == 1);
  }
  const auto parsed = InterfaceList::parse(list);
  REQUIRE(parsed);
  return parsed->takes(name, reinterpret_cast<const sockaddr*>(&storage));
}

}  // namespace

TEST_CASE("names, beginnings of names, subnets and exclusions", "[base]") {
  CHECK(takes("", "eth0", "10.1.2.3"));
  CHECK(takes("eth0", "eth0", "10.1.2.3"));
  CHECK_FALSE(takes("eth1", "eth10", "10.1.2.3"));
  CHECK(takes("eth", "eth10", "10.1.2.3"));
  CHECK(takes("ib, eth", "eth10", "10.1.2.3"));
  CHECK_FALSE(takes("=eth", "eth10", "10.1.2.3"));
  CHECK(takes("10.1.0.0/16", "x", "10.1.2.3"));
  CHECK_FALSE(takes("10.1.0.0/16", "x", "10.2.2.3"));
  CHECK(takes("10.1.2.0/23", "x", "10.1.3.3"));
  CHECK_FALSE(takes("10.1.2.0/23", "x", "10.1.4.3"));
  CHECK(takes("10.1.2.3", "x", "10.1.2.3"));
  CHECK_FALSE(takes("10.1.2.3", "x", "10.1.2.4"));
  CHECK(takes("fd00::/8", "x", "fd12::1"));
  CHECK_FALSE(takes("fd00::/8", "x", "10.1.2.3"));
  CHECK_FALSE(takes("^docker,lo", "docker0", "172.17.0.1"));
  CHECK_FALSE(takes("^127.0.0.1/8", "lo", "127.0.0.1"));
  CHECK(takes("^docker,lo", "eth0", "10.1.2.3"));
}

TEST_CASE("what is no list of interfaces is named, also as a knob", "[base]") {
  for (const char* bad : {"^", "eth0,^lo", "10.0.0.0/33", "10.0.0.0/x", "eth0/8", "a b", "="}) {
    INFO(bad);
    CHECK_FALSE(InterfaceList::parse(bad));
    const auto knobs = Knobs::read([bad](const char* name) {
      return std::strcmp(name, "TUTTI_INTERFACES") == 0 ? bad : nullptr;
    });
    REQUIRE_FALSE(knobs);
    CHECK(knobs.error().text.find("TUTTI_INTERFACES") == 0);
  }
}
