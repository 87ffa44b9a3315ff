// What the job may use, from nothing, -H, hostfiles or both.
#include <map>

#include "catch.h"
#include "hosts/hosts.h"

using namespace tutti;          // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace): a test of one
                                       // namespace

namespace {
Result<std::string> read(const std::string& path) {
  const std::map<std::string, std::string> files{{"two", "a slots=2\nb slots=4\n"},
                                                 {"more", "b slots=1\nc\n"}};
  const auto found = files.find(path);
  if (found == files.end()) return fail(Code::arg, "hostfile " + path + " cannot be read");
  return found->second;
}
Result<Allocation> make(const std::vector<std::string>& hosts,
                        const std::vector<std::string>& files) {
  return allocate({{hosts, files}}, read, "here", 8);
}
}  // namespace

TEST_CASE("without hosts the job gets this machine, a slot a core", "[hosts]") {
  const auto allocation = make({}, {});
  REQUIRE(allocation);
  CHECK_FALSE(allocation->given);
  REQUIRE(allocation->hosts.size() == 1);
  CHECK(allocation->hosts[0].name == "here");
  CHECK(allocation->hosts[0].slots == 8);
  CHECK(allocation->hosts[0].source == "this machine");
}

TEST_CASE("several hostfiles add up", "[hosts]") {
  const auto allocation = make({}, {"two", "more"});
  REQUIRE(allocation);
  REQUIRE(allocation->hosts.size() == 3);
  CHECK(allocation->hosts[1].slots == 5);
  CHECK(allocation->given);
}

TEST_CASE("-H picks from a hostfile and may lower its slots but not raise them", "[hosts]") {
  const auto allocation = make({"b:3,a:9"}, {"two"});
  REQUIRE(allocation);
  REQUIRE(allocation->hosts.size() == 2);
  CHECK(allocation->hosts[0].name == "b");
  CHECK(allocation->hosts[0].slots == 3);
  CHECK(allocation->hosts[1].slots == 2);
  CHECK(make({"b"}, {"two"})->hosts[0].slots == 4);
}

TEST_CASE("-H is cut at commas, and one that parts nothing is told", "[hosts]") {
  const auto ranges = make({"a[1,3-4]:2, b"}, {});
  REQUIRE(ranges);
  REQUIRE(ranges->hosts.size() == 4);
  CHECK(ranges->hosts[2].name == "a4");
  for (const char* list : {"a:2,,b", "a:2,b,", ","}) {
    const auto gap = make({list}, {});
    REQUIRE_FALSE(gap);
    CHECK(gap.error().text == "-H " + std::string(list) + ": a host's name is missing at a comma");
  }
}

TEST_CASE("a host of -H that the hostfile does not have is named", "[hosts]") {
  const auto allocation = make({"z"}, {"two"});
  REQUIRE_FALSE(allocation);
  CHECK(allocation.error().text.find("host z of -H is not in two") != std::string::npos);
}

TEST_CASE("a hostfile that cannot be read is an error, not an empty list", "[hosts]") {
  const auto allocation = make({}, {"nowhere"});
  REQUIRE_FALSE(allocation);
  CHECK(allocation.error().text.find("nowhere") != std::string::npos);
}
