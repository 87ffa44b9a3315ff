// Plans of levels over made-up machines, and what the model says they take.
#include "delegate/shm/levels.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "catch.h"
#include "topo/topo.h"

using namespace tutti;

namespace {

using Places = std::vector<model::BoundAt>;

// A rank a core, as they are bound in order.
Places places_on(const std::string& description) {
  const auto machine = topo::synthetic(description);
  REQUIRE(machine);
  Places places;
  for (const topo::Thread& thread : machine->threads)
    places.push_back({thread.l3, thread.numa, thread.package});
  return places;
}

int tops_of(const std::vector<int>& above) {
  return static_cast<int>(std::ranges::count(above, -1));
}

// Lines that the member which looks at most of them sees in a call.
std::size_t most_heard(const std::vector<int>& above) {
  std::size_t most = 0;
  for (int m = 0; m < static_cast<int>(above.size()); ++m) {
    const delegate::Levels levels = delegate::levels_of(above, m);
    most = std::max(most, levels.below.size() + levels.tops.size());
  }
  return most;
}

// Whoever hears a member stands before it, so every way up ends at a top.
bool is_tree(const std::vector<int>& above) {
  for (int m = 0; m < static_cast<int>(above.size()); ++m)
    if (above[static_cast<std::size_t>(m)] >= m) return false;
  return true;
}

}  // namespace

TEST_CASE("levels follow the machine, where the model says that they save time", "[levels]") {
  struct Machine {
    const char* description;
    int cores, tops;
    std::size_t heard;
  };
  const Machine machines[] = {
      {"package:1 numa:1 l3:1 core:8 pu:1", 8, 8, 8},      // one cache
      {"package:1 numa:1 l3:1 core:64 pu:1", 64, 64, 64},  // however large
      {"package:1 numa:1 l3:2 core:4 pu:1", 8, 8, 8},
      {"package:1 numa:1 l3:8 core:8 pu:1", 64, 8, 15},
      {"package:2 numa:1 l3:1 core:48 pu:1", 96, 2, 49},
      {"package:1 numa:4 l3:3 core:8 pu:1", 96, 12, 19},
      {"package:2 numa:1 l3:8 core:8 pu:1", 128, 16, 23},
      {"package:2 numa:4 l3:4 core:8 pu:1", 256, 8, 18},
  };
  for (const Machine& machine : machines) {
    const Places places = places_on(machine.description);
    const std::vector<int> above = delegate::plan_levels(places);
    const std::vector<int> flat(places.size(), -1);
    INFO(machine.description << ": " << tops_of(above) << " tops, " << most_heard(above)
                             << " heard, " << model::meeting_us(places, above) << " us, flat "
                             << model::meeting_us(places, flat));
    REQUIRE(static_cast<int>(places.size()) == machine.cores);
    CHECK(is_tree(above));
    CHECK(tops_of(above) == machine.tops);
    CHECK(most_heard(above) == machine.heard);
    CHECK((tops_of(above) == machine.cores ||
           model::meeting_us(places, above) < 0.9 * model::meeting_us(places, flat)));
  }
}

TEST_CASE("where a place is not known all hear all", "[levels]") {
  Places places = places_on("package:2 numa:1 l3:8 core:8 pu:1");
  places[77].cache = -1;
  CHECK(tops_of(delegate::plan_levels(places)) == 128);
}

// However ranks are dealt out: in turns over the packages, or all over the machine.
TEST_CASE("members of one cache speak to the first of them in any order of ranks", "[levels]") {
  const Places in_order = places_on("package:2 numa:1 l3:8 core:8 pu:1");
  for (const std::size_t step : {64U + 1, 37U}) {
    Places places;
    for (std::size_t m = 0; m < in_order.size(); ++m)
      places.push_back(in_order[m * step % in_order.size()]);
    const std::vector<int> above = delegate::plan_levels(places);
    CHECK(is_tree(above));
    CHECK(tops_of(above) == 16);
    for (std::size_t m = 0; m < places.size(); ++m)
      if (const int to = above[m]; to >= 0)
        CHECK(places[m].cache == places[static_cast<std::size_t>(to)].cache);
  }
}

TEST_CASE("fewer than nine members gain nothing by levels on any machine", "[levels]") {
  for (const char* each : {"package:2 numa:1 l3:1 core:4 pu:1", "package:2 numa:2 l3:1 core:2 pu:1",
                           "package:4 numa:1 l3:1 core:2 pu:1", "package:2 numa:2 l3:2 core:1 pu:1",
                           "package:1 numa:1 l3:2 core:4 pu:1"})
    CHECK(tops_of(delegate::plan_levels(places_on(each))) == 8);
}
