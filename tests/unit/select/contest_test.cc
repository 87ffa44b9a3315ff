// A contest: what the model says decides at first, what calls took later, and members that are told
// the same answer the same.
#include "select/contest.h"

#include "catch.h"
#include "select/on_gpus.h"

using namespace tutti;
using select::Contest;

namespace {

constexpr Contest::Mask kTwo{true, true, false};
constexpr double kNever = 1e15;

// So many calls of a machine on which the ways take these times; how many each served.
std::array<int, Contest::kWays> play(Contest& contest, const Contest::Times& really, int calls,
                                     const Contest::Mask& can = kTwo) {
  std::array<int, Contest::kWays> served{};
  for (int i = 0; i < calls; ++i) {
    if (!contest.asks(can)) {
      ++served[Contest::ours];
      continue;
    }
    const Contest::Way way = contest.next(can);
    ++served[way];
    contest.took(way, really[way]);
  }
  return served;
}

}  // namespace

TEST_CASE("who is predicted far behind is never tried", "[contest]") {
  Contest small({5, 50, kNever});
  CHECK(play(small, {5, 1, kNever}, 100)[Contest::library] == 0);
  CHECK_FALSE(Contest({5, 50, kNever}).asks(kTwo));
  Contest large({500, 50, kNever});
  CHECK(large.asks(kTwo));
  CHECK(play(large, {1, 50, kNever}, 100)[Contest::ours] == 0);
}

TEST_CASE("who is near is tried, and the quicker one serves from then on", "[contest]") {
  for (const bool library_wins : {true, false}) {
    Contest contest({50, 60, kNever});
    const Contest::Times really{library_wins ? 90.0 : 30.0, 40, kNever};
    play(contest, really, 6);
    const auto served = play(contest, really, 1000);
    CHECK(served[library_wins ? Contest::library : Contest::ours] > 980);
    // The other one is looked at now and then.
    CHECK(served[library_wins ? Contest::ours : Contest::library] > 0);
  }
}

TEST_CASE("a verdict is there when all that are near were tried", "[contest]") {
  for (const double ours : {30.0, 1000.0}) {  // beside 40: near, and then never worth another try
    Contest contest({50, 60, kNever});
    const Contest::Times really{ours, 40, kNever};
    CHECK_FALSE(contest.verdict(kTwo));
    play(contest, really, 1);
    CHECK_FALSE(contest.verdict(kTwo));
    play(contest, really, 6);
    CHECK(contest.verdict(kTwo) == (ours < 40 ? Contest::ours : Contest::library));
  }
  Contest alone({5, 50, kNever});
  play(alone, {5, 1, kNever}, 100);
  CHECK_FALSE(alone.verdict(kTwo));
}

TEST_CASE("a machine that changes is noticed", "[contest]") {
  Contest contest({50, 60, kNever});
  play(contest, {50, 60, kNever}, 200);
  const auto served = play(contest, {120, 60, kNever}, 4000);
  CHECK(served[Contest::library] > 2000);
}

TEST_CASE("one call that was held up changes nothing", "[contest]") {
  Contest contest({50, 60, kNever});
  const Contest::Times really{50, 30, kNever};
  play(contest, really, 50);
  REQUIRE(contest.asks(kTwo));
  contest.took(Contest::library, 1e6);
  CHECK(play(contest, really, 100)[Contest::library] > 90);
}

TEST_CASE("who was held up in all its tries serves as soon as one call shows how quick it is",
          "[contest]") {
  Contest contest({50, 60, kNever});
  play(contest, {90, 40, kNever}, 6);
  REQUIRE(contest.verdict(kTwo) == Contest::library);
  play(contest, {10, 40, kNever}, 130);  // one of them is a look at who lost
  CHECK(contest.verdict(kTwo) == Contest::ours);
}

TEST_CASE("a first call, in which connections are made, does not keep a way from another",
          "[contest]") {
  for (const Contest::Way way : {Contest::ours, Contest::library}) {
    Contest contest({50, 60, kNever});
    Contest::Times first{50, 50, kNever}, later = first;
    first[way] = 1e6;
    later[way] = 20;
    play(contest, first, 2);  // one of each
    CHECK(play(contest, later, 100)[way] > 90);
  }
}

TEST_CASE("a way that there is not is not taken", "[contest]") {
  constexpr Contest::Mask kOurs{true, false, false}, kLevels{true, false, true};
  Contest contest({50, 1, 20});
  CHECK(play(contest, {50, 1, 20}, 50, kOurs)[Contest::ours] == 50);
  Contest other({50, 1, 20});
  const auto served = play(other, {50, 1, 20}, 50, kLevels);
  CHECK(served[Contest::library] == 0);
  CHECK(served[Contest::levels] > 40);
}

TEST_CASE("its words say what was predicted and what was measured", "[contest]") {
  Contest contest({50, 60, kNever});
  for (const double us : {1e6, 33.25}) contest.took(Contest::library, us);
  const std::string why = contest.why(kTwo);
  CHECK(why.starts_with("nccl: predicted 60.0 us, took 33.2 us; ours: predicted 50.0 us"));
}

TEST_CASE("NCCL is predicted ahead of ours for long vectors, and behind for a few bytes",
          "[contest]") {
  const auto knobs = Knobs::read([](const char*) { return nullptr; });
  REQUIRE(knobs);
  model::TeamFacts team;
  team.size = 8;
  team.hosts = 2;
  team.largest_host = 4;
  const model::Costs costs;
  team.inside = costs.of_link("shm", 0);
  team.between = costs.of_link("rdma", 200);
  const auto predicted = [&](std::int64_t bytes, const select::GpuLevels& levels) {
    const select::Question question{coll::Collective::allreduce, bytes, true, "", false};
    const auto ours = select::choose(question, team, *knobs, false);
    REQUIRE(ours);
    return select::predict_on_gpus(question, *ours, team, costs, levels, *knobs);
  };
  const auto large = predicted(64 << 20, {2, 4, true});
  CHECK(large[Contest::library] < large[Contest::ours]);
  CHECK(large[Contest::levels] < large[Contest::ours] * 4);
  CHECK(predicted(64 << 20, {})[Contest::levels] > 1e12);
  // Those that share a GPU fold by ours, and NCCL has fewer members.
  const auto shared = predicted(1 << 20, {4, 2, false});
  CHECK(shared[Contest::levels] < 1e6);
  const auto table = model::parse_costs("nccl=1000:1");
  REQUIRE(table);
  const select::Question question{coll::Collective::bcast, 1 << 20, true, "", false};
  const auto ours = select::choose(question, team, *knobs, false);
  REQUIRE(ours);
  const auto slow = select::predict_on_gpus(question, *ours, team, *table, {}, *knobs);
  CHECK(slow[Contest::library] > 2000);  // begins and moves as the table says
}
