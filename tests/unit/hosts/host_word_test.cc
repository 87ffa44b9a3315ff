// One host word, and -H.
#include "hosts/host_word.h"

#include "catch.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace): a test of one
                                       // namespace

TEST_CASE("a host word is a name, perhaps with slots and a user", "[hosts]") {
  const auto plain = parse_host_word("node-1.cluster");
  REQUIRE(plain);
  CHECK(plain->name == "node-1.cluster");
  CHECK(plain->slots == 1);
  CHECK_FALSE(plain->slots_given);
  const auto full = parse_host_word("me@a:12");
  REQUIRE(full);
  CHECK(full->user == "me");
  CHECK(full->name == "a");
  CHECK(full->slots == 12);
  CHECK(full->slots_given);
}

TEST_CASE("an IPv6 address stands bare, or in brackets when slots follow", "[hosts]") {
  CHECK(parse_host_word("fe80::1%eth0")->name == "fe80::1%eth0");
  CHECK(parse_host_word("[::1]")->name == "::1");
  CHECK(parse_host_word("me@[2001:db8::5]:3")->slots == 3);
  CHECK_FALSE(parse_host_word("[::1"));
  CHECK_FALSE(parse_host_word("[::1]3"));
  CHECK_FALSE(parse_host_word("[]:3"));
}

TEST_CASE("a word that ssh could take for an option or a shell for text is refused", "[hosts]") {
  for (const char* word : {"-oProxyCommand=x", "a;b", "$(x)", "a b", "", ":2", "@a", "-l@a", "a'b"})
    CHECK_FALSE(parse_host_word(word));
}

TEST_CASE("hosts that join are called by the same rule, and by no address", "[hosts]") {
  for (const char* name : {"node-1.cluster", "a_b", "7"}) CHECK(is_host_name(name));
  for (const char* name : {"", "-oProxyCommand=x", "-1", "a b", "a/b", "fe80::1%eth0", "a\n"})
    CHECK_FALSE(is_host_name(name));
  CHECK(is_host_name("fe80::1%eth0", ":%"));
}

TEST_CASE("a count that is none is named in the error", "[hosts]") {
  for (const char* word : {"a:0", "a:-1", "a:x", "a:", "a:99999999999", "a:1.5"}) {
    const auto host = parse_host_word(word);
    REQUIRE_FALSE(host);
    CHECK(host.error().text.find(word) != std::string::npos);
  }
}

TEST_CASE("hosts of -H add up and keep their order", "[hosts]") {
  const auto allocation = parse_dash_host({"b:2,a", "b"});
  REQUIRE(allocation);
  REQUIRE(allocation->hosts.size() == 2);
  CHECK(allocation->hosts[0].name == "b");
  CHECK(allocation->hosts[0].slots == 3);
  CHECK(allocation->hosts[1].slots == 1);
  CHECK(allocation->given);
  CHECK_FALSE(parse_dash_host({"a,,b"}));
}
