// Which link is taken, and the words for it.
#include "rig.h"

using namespace tutti;
using namespace tutti::test;

namespace {

Result<Picked> pick_between(Rig& rig, int from, int to) {
  End& end = rig[from];
  return pick(end.opened.transports, rig.peer(from, to), end.knobs);
}

std::string name_of(Rig& rig, int from, const Picked& picked) {
  return rig[from].opened.transports[picked.index]->name();
}

}  // namespace

TEST_CASE("a rank reaches itself by self and its neighbour by shm", "[pick]") {
  Rig rig({0, 0}, Knobs::defaults());
  REQUIRE(name_of(rig, 0, *pick_between(rig, 0, 0)) == "self");
  const auto picked = pick_between(rig, 0, 1);
  REQUIRE(name_of(rig, 0, *picked) == "shm");
  REQUIRE(picked->traits.why.find("same host") != std::string::npos);
}

TEST_CASE("a link that is not used says why", "[pick]") {
  Rig rig({0}, Knobs::defaults());
  std::string all;
  for (const std::string& line : rig[0].opened.left_out) all += line + "\n";
  REQUIRE(all.find("shm: this rank is alone on its host") != std::string::npos);
}

TEST_CASE("a peer that no permitted link reaches is named with every reason", "[pick]") {
  Rig rig({0, 0, 1}, knobs_with({{"TUTTI_LINK", "shm"}}));
  REQUIRE(pick_between(rig, 0, 1).has_value());
  const auto picked = pick_between(rig, 0, 2);
  REQUIRE_FALSE(picked.has_value());
  REQUIRE(picked.error().text.find("rank 2") != std::string::npos);
  REQUIRE(picked.error().text.find("shm: another host") != std::string::npos);
}

TEST_CASE("single copy can be forbidden, and the report says so", "[pick]") {
  Rig rig({0, 0}, knobs_with({{"TUTTI_SINGLE_COPY", "off"}}));
  const auto picked = pick_between(rig, 0, 1);
  REQUIRE_FALSE(picked->traits.gets);
  REQUIRE(picked->traits.why.find("TUTTI_SINGLE_COPY=off") != std::string::npos);
}
