// The examples in hostfiles/ are read, and say what their comments say.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.h"
#include "hosts/hosts.h"

using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace): a test of one
                                       // namespace

namespace {
Allocation example(const std::string& name) {
  std::ifstream file(std::filesystem::path(TUTTI_HOSTFILES) / name);
  INFO(name);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  const auto allocation = parse_hostfile(name, text.str());
  REQUIRE(allocation);
  return *allocation;
}
}  // namespace

TEST_CASE("every example of a hostfile is read", "[plan]") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_HOSTFILES)) {
    example(entry.path().filename());
    ++count;
  }
  CHECK(count >= 4);
}

TEST_CASE("both spellings of two hosts are the same", "[plan]") {
  for (const char* name : {"two-hosts", "two-hosts-hydra"}) {
    const Allocation two = example(name);
    REQUIRE(two.hosts.size() == 2);
    CHECK(two.hosts[0].name == "a");
    CHECK(two.hosts[0].slots == 2);
    CHECK(two.hosts[1].name == "b");
    CHECK(two.hosts[1].slots == 2);
  }
}

TEST_CASE("the example with users and ports has them", "[plan]") {
  const Allocation hosts = example("users-and-ports");
  REQUIRE(hosts.hosts.size() == 3);
  CHECK(hosts.hosts[0].user == "alice");
  CHECK(hosts.hosts[0].port == 2222);
  CHECK(hosts.hosts[1].name == "fd00::7");
  CHECK(hosts.hosts[2].slots == 3);
}
