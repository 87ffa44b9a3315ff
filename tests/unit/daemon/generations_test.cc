// Segments of MPI programs that ranks run one after another: made late, they know what was said.
#include "daemon/generations.h"

#include "catch.h"

namespace tutti::launch::daemon {
namespace {

wireup::JobFacts some_facts(std::span<const std::uint8_t> key) {
  wireup::JobFacts facts;
  facts.hosts = {"a", "b"};
  facts.host_of = {0, 0, 1};
  facts.key = key;
  return facts;
}

struct Some {
  std::array<std::uint8_t, 32> key{7};
  Generations all;
  Some() { REQUIRE(all.open(some_facts(key))); }
};

TEST_CASE("each generation has a segment of its own, of the same job", "[generations]") {
  Some some;
  some.key.fill(9);  // the caller's; ours was copied
  const auto second = some.all.get(1);
  REQUIRE(second);
  CHECK((*second)->header().generation == 1);
  CHECK((*second)->header().job_key[0] == 7);
  CHECK((*second)->fd() != some.all.find(0)->fd());
  CHECK(*some.all.get(1) == *second);
}

TEST_CASE("an address goes to its generation alone", "[generations]") {
  Some some;
  REQUIRE(some.all.publish(1, 2, "there"));
  CHECK(some.all.find(0)->rank(2).ready.load() == 0);
  CHECK(some.all.find(1)->rank(2).ready.load() == 1);
  some.all.drop_below(1);
  CHECK(some.all.publish(0, 2, "late"));  // nobody is there any more
  CHECK_FALSE(some.all.get(0));
}

TEST_CASE("a rank that ended has left what it finalized, and is gone from what follows",
          "[generations]") {
  Some some;
  REQUIRE(some.all.get(1));
  some.all.ended(2, 1, true);
  some.all.ended(1, 0, true);
  some.all.abort();
  REQUIRE(some.all.get(2));
  const auto is_gone = [&some](std::uint32_t generation, unsigned rank) {
    return some.all.find(generation)->rank(rank).gone.load() != 0;
  };
  CHECK(some.all.find(0)->rank(2).left.load() == 1);
  CHECK_FALSE(is_gone(0, 2));
  for (const std::uint32_t later : {1U, 2U}) CHECK(is_gone(later, 2));
  for (const std::uint32_t each : {0U, 1U, 2U}) {
    CHECK(is_gone(each, 1));
    CHECK_FALSE(is_gone(each, 0));
    CHECK(some.all.find(each)->header().aborted.load() == 1);
  }
}

TEST_CASE("numbers that make no sense make no segments", "[generations]") {
  Some some;
  CHECK_FALSE(some.all.get(1U << 31));
  CHECK_FALSE(some.all.publish(1000, 2, "far"));
  some.all.ended(99, 1, true);
  some.all.ended(-1, 1, true);
}

TEST_CASE("a key of another length is refused", "[generations]") {
  Generations all;
  const std::array<std::uint8_t, 16> key{};
  CHECK_FALSE(all.open(some_facts(key)));
  CHECK_FALSE(all.is_open());
}

}  // namespace
}  // namespace tutti::launch::daemon
