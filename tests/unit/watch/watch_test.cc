// What a rank says it is in, as its daemon would read it from the segment.
#include "watch/watch.h"

#include "catch.h"
#include "wireup/wireup.h"

using namespace tutti;

TEST_CASE("a call is seen while it runs, and counted when it is over", "[watch]") {
  const auto worlds = wireup::in_threads({0, 0});
  wireup::WatchRecord& mine = worlds[1]->segment().local(1).watch;
  const wireup::WatchRecord& seen = worlds[0]->segment().local(1).watch;
  REQUIRE(seen.function.load() == 0);
  const std::uint64_t before = seen.calls.load();
  {
    const watch::Scope scope(mine, 41);
    REQUIRE(seen.function.load() == 42);
    REQUIRE(seen.calls.load() == before + 1);
    watch::detail(mine, {.context = 6, .peer = 3, .tag = 9, .bytes = 100, .sequence = 2});
    REQUIRE(seen.context == 6);
    REQUIRE(seen.peer == 3);
    REQUIRE(seen.tag == 9);
    REQUIRE(seen.bytes == 100);
    REQUIRE(seen.sequence == 2);
  }
  REQUIRE(seen.function.load() == 0);
  REQUIRE(seen.calls.load() == before + 1);
  // The neighbour's record is not touched.
  REQUIRE(worlds[0]->segment().local(0).watch.calls.load() == 0);
}
