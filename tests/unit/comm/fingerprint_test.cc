// Names that the launcher shows are those of the collectives.
#include "comm/fingerprint.h"

#include "catch.h"
#include "watch/calls.h"

using namespace tutti;

TEST_CASE("fingerprints name every collective", "[comm][fingerprint]") {
  for (std::uint32_t i = 0; i < coll::kCollectives; ++i) {
    const auto collective = static_cast<coll::Collective>(i);
    const std::string name(coll::name_of(collective));
    CHECK(watch::collective_name(i) == name);
    const std::string words =
        watch::describe_fingerprint(comm::fingerprint_of(collective, nullptr, 3, 16));
    CHECK(words.substr(5, name.size() - 1) == name.substr(1));
    CHECK((words.find("root 3") != std::string::npos) == comm::has_root(collective));
  }
  CHECK(watch::collective_name(coll::kCollectives) == std::string());
}
