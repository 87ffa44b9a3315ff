// Hostfiles in both syntaxes, and what is said about bad ones.
#include "catch.h"
#include "hosts/hosts.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace): a test of one
                                       // namespace

TEST_CASE("Open MPI's and Hydra's lines are both read", "[hosts]") {
  const auto allocation = parse_hostfile("f",
                                         "# the cluster\n"
                                         "a slots=2 max_slots=4\r\n"
                                         "\n"
                                         "b:3   # Hydra\n"
                                         "me@c slots = 5 port=2222\n"
                                         "d\n"
                                         "[::1]:2 user=you");
  REQUIRE(allocation);
  REQUIRE(allocation->hosts.size() == 5);
  CHECK(allocation->hosts[0].slots == 2);
  CHECK(allocation->hosts[0].max_slots == 4);
  CHECK(allocation->hosts[0].source == "f:2");
  CHECK(allocation->hosts[1].slots == 3);
  CHECK(allocation->hosts[1].source == "f:4");
  CHECK(allocation->hosts[2].user == "me");
  CHECK(allocation->hosts[2].slots == 5);
  CHECK(allocation->hosts[2].port == 2222);
  CHECK_FALSE(allocation->hosts[3].slots_given);
  CHECK(allocation->hosts[4].name == "::1");
  CHECK(allocation->hosts[4].user == "you");
}

TEST_CASE("max_slots alone is the number of slots, as with Open MPI", "[hosts]") {
  const auto allocation = parse_hostfile("f", "a max_slots=4\n");
  REQUIRE(allocation);
  CHECK(allocation->hosts[0].slots == 4);
  CHECK(allocation->hosts[0].slots_given);
}

TEST_CASE("a name repeated adds slots", "[hosts]") {
  const auto allocation = parse_hostfile("f", "a slots=2\nb:1\na:3\n");
  REQUIRE(allocation);
  REQUIRE(allocation->hosts.size() == 2);
  CHECK(allocation->hosts[0].slots == 5);
}

TEST_CASE("every malformed line is named by file, line and word", "[hosts]") {
  struct Bad {
    const char* line;
    const char* says;
  };
  for (const Bad& bad :
       {Bad{"a slots=two", "'slots=two'"}, Bad{"a slots=0", "'slots=0'"},
        Bad{"a slots=", "'slots='"}, Bad{"a slots", "'slots'"},
        Bad{"a solts=2", "did you mean 'slots'"}, Bad{"a b", "'b'"}, Bad{"slots=2", "host's name"},
        Bad{"a:x", "'a:x'"}, Bad{"a slots=4 max_slots=2", "max_slots=2"},
        Bad{"a:2 slots=3", "2 slots are given before it"},
        Bad{"a slots=1 slots=2", "'slots=2': 1 slots"}, Bad{"-x slots=2", "'-x'"},
        Bad{"a binding=user:0,1", "--bind-to"}, Bad{"a ifhn=a-ib", "--interfaces"},
        Bad{"a port=70000", "'port=70000'"}, Bad{"a user=-x", "user name"}}) {
    INFO(bad.line);
    const auto allocation = parse_hostfile("dir/f", std::string("ok\n") + bad.line + "\n");
    REQUIRE_FALSE(allocation);
    CHECK(allocation.error().text.find("dir/f:2: ") == 0);
    CHECK(allocation.error().text.find(bad.says) != std::string::npos);
    CHECK(allocation.error().text.find('\n') == std::string::npos);
  }
}

TEST_CASE("a file without hosts, or that is no text, is refused", "[hosts]") {
  CHECK_FALSE(parse_hostfile("f", ""));
  CHECK_FALSE(parse_hostfile("f", "# nothing\n\n"));
  CHECK_FALSE(parse_hostfile("f", std::string("a\0b", 3)));
}
