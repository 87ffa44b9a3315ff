// The catalogue as a table, and what build() refuses. Whether schedules are right is the
// sweep's matter (tests/schedule).
#include <set>

#include "catch.h"
#include "coll/coll.h"

using namespace tutti;
using coll::Collective;
using coll::RankCall;

namespace {

RankCall call_of(Collective collective, int rank, int size) {
  RankCall call;
  call.collective = collective;
  call.rank = rank;
  call.size = size;
  call.count = 10;
  return call;
}

}  // namespace

TEST_CASE("every collective has an algorithm that keeps rank order and needs no hosts", "[coll]") {
  for (int i = 0; i < coll::kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    bool found = false;
    for (const auto& algorithm : coll::catalogue())
      found = found || (algorithm.collective == collective && !algorithm.needs_commutative &&
                        !algorithm.needs_hosts);
    INFO(coll::name_of(collective));
    CHECK(found);
  }
}

TEST_CASE("names are found, and are one of a kind within a collective", "[coll]") {
  std::set<std::string> seen;
  for (const auto& algorithm : coll::catalogue()) {
    CHECK(coll::find(algorithm.collective, algorithm.name) == &algorithm);
    CHECK(seen.insert(std::string(coll::name_of(algorithm.collective)) + "/" + algorithm.name)
              .second);
  }
  CHECK(coll::find(Collective::bcast, "ring") == nullptr);
}

TEST_CASE("an algorithm that loses rank order refuses operations that need it", "[coll]") {
  RankCall call = call_of(Collective::allreduce, 0, 4);
  call.commutative = false;
  const auto refused = coll::build(*coll::find(Collective::allreduce, "ring"), call);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("commutative") != std::string::npos);
  CHECK(coll::build(*coll::find(Collective::allreduce, "recursive_doubling"), call));
}

TEST_CASE("a composition over hosts refuses a call that does not know them", "[coll]") {
  const auto* two_level = coll::find(Collective::allreduce, "two_level");
  REQUIRE(two_level != nullptr);
  CHECK_FALSE(coll::build(*two_level, call_of(Collective::allreduce, 0, 4)));
}

TEST_CASE("a leaf of a reduction sends its input without copying it", "[coll]") {
  const auto leaf =
      coll::build(*coll::find(Collective::reduce, "binomial"), call_of(Collective::reduce, 3, 4));
  REQUIRE(leaf);
  REQUIRE(leaf->steps.size() == 1);
  CHECK(leaf->steps[0].from.space == sched::Space::in);
}

TEST_CASE("the ring copies nothing and needs no scratch", "[coll]") {
  RankCall call = call_of(Collective::allreduce, 2, 5);
  call.count = 100000;
  const auto ring = coll::build(*coll::find(Collective::allreduce, "ring"), call);
  REQUIRE(ring);
  CHECK(ring->scratch == 0);
  for (const auto& step : ring->steps) CHECK(step.kind != sched::StepKind::copy);
}

TEST_CASE("schedules of very large teams are as long as the rank's own steps", "[coll]") {
  RankCall call = call_of(Collective::allreduce, 77777, 100000);
  const auto few = coll::build(*coll::find(Collective::allreduce, "recursive_doubling"), call);
  REQUIRE(few);
  CHECK(few->steps.size() < 100);
  call = call_of(Collective::allreduce, 500, 1000);
  call.count = 4000;
  const auto ring = coll::build(*coll::find(Collective::allreduce, "ring"), call);
  REQUIRE(ring);
  CHECK(ring->steps.size() == 999 * 5);
}
