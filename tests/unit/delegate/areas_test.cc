// Areas: taken by a team, given back by its last member, also when others of them are dead.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "catch.h"
#include "teams.h"

using namespace tutti;
using namespace tutti::test;

namespace {

using Wireups = std::vector<std::unique_ptr<wireup::Wireup>>;
const std::vector<int> kThree{0, 1, 2};

// What the daemon does when the process has ended.
void end_process(const Wireups& wireups, std::uint32_t rank) {
  wireups[0]->segment().rank(rank).gone.store(1, std::memory_order_release);
}

std::unique_ptr<Team> join(const Wireups& wireups, int member, std::uint32_t area) {
  return delegate::make_shm_team(*wireups[static_cast<std::size_t>(member)], kThree, member, area,
                                 waiting());
}

}  // namespace

TEST_CASE("areas are given back by the last member and serve again", "[delegate]") {
  auto wireups = wireup::in_threads({0, 0, 0, 0});
  const std::vector<int> locals{3, 1};  // a team in an order of its own
  const auto limit = wireups[0]->segment().header().area_count;
  std::vector<std::uint32_t> taken;
  while (const auto area = delegate::take_area(*wireups[3], locals)) taken.push_back(*area);
  CHECK(taken.size() == limit - 1);
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int member = 0; member < 2; ++member)
      threads.emplace_back([&, member] {
        wireup::Wireup& own =
            *wireups[static_cast<std::size_t>(locals[static_cast<std::size_t>(member)])];
        const auto team = delegate::make_shm_team(own, locals, member, taken[0], waiting());
        Mixer mixer(*team, member, 2);
        bool all = true;
        for (int i = 0; i < 30; ++i) all = all && mixer.run(Collective::allreduce, 100 * i, 0);
        if (all) ++good;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(good == 2);
    CHECK(delegate::take_area(*wireups[3], locals) == taken[0]);
  }
}

TEST_CASE("a member that died does not keep its team's area", "[delegate][areas]") {
  auto wireups = wireup::in_threads({0, 0, 0});
  const auto limit = wireups[0]->segment().header().area_count;
  const auto first = delegate::take_area(*wireups[0], kThree);
  REQUIRE(first.has_value());
  {
    std::unique_ptr<Team> teams[] = {join(wireups, 0, *first), join(wireups, 1, *first)};
    std::unique_ptr<delegate::TeamRun> runs[] = {teams[0]->begin(TeamCall{}),
                                                 teams[1]->begin(TeamCall{})};
    // The third dies in the middle of this call, and of the others it never sees the end.
    end_process(wireups, 2);
    for (const auto& run : runs) {
      while (run->step() != delegate::StepResult::over) {
      }
      CHECK(run->code() == Code::proc_aborted);
    }
  }
  for (std::uint32_t i = 0; i < 5 * limit; ++i) {
    const auto area = delegate::take_area(*wireups[0], kThree);
    REQUIRE(area == first);  // the first that is free: it was given back when they left
    const auto one = join(wireups, 0, *area), two = join(wireups, 1, *area);
  }
}

TEST_CASE("teams whose last member died give their areas when none is free", "[delegate][areas]") {
  auto wireups = wireup::in_threads({0, 0, 0});
  const auto limit = wireups[0]->segment().header().area_count;
  std::vector<std::uint32_t> taken;
  while (const auto area = delegate::take_area(*wireups[0], kThree)) taken.push_back(*area);
  REQUIRE(taken.size() == limit - 1);
  // The survivor leaves before anyone knows of the deaths; of one team it stays a member.
  std::unique_ptr<Team> kept = join(wireups, 0, taken[0]);
  for (std::size_t i = 1; i < taken.size(); ++i) join(wireups, 0, taken[i]);
  CHECK_FALSE(delegate::take_area(*wireups[0], kThree).has_value());
  end_process(wireups, 1);
  CHECK_FALSE(delegate::take_area(*wireups[0], kThree).has_value());
  end_process(wireups, 2);
  std::vector<std::uint32_t> again;
  while (const auto area = delegate::take_area(*wireups[0], {0})) again.push_back(*area);
  CHECK(again.size() == limit - 2);
  CHECK(std::find(again.begin(), again.end(), taken[0]) == again.end());
  kept.reset();
  CHECK(delegate::take_area(*wireups[0], {0}) == taken[0]);
}

TEST_CASE("survivors who leave at once give the area back once", "[delegate][areas]") {
  for (int round = 0; round < 200; ++round) {
    auto wireups = wireup::in_threads({0, 0, 0});
    const auto area = delegate::take_area(*wireups[0], kThree);
    REQUIRE(area.has_value());
    std::atomic<int> here{0};
    std::vector<std::thread> threads;
    for (int member = 0; member < 2; ++member)
      threads.emplace_back([&, member] {
        auto team = join(wireups, member, *area);
        ++here;
        while (here.load() < 2) std::this_thread::yield();
        if (member == 0) end_process(wireups, 2);
        team.reset();
      });
    for (std::thread& thread : threads) thread.join();
    const auto limit = wireups[0]->segment().header().area_count;
    std::uint32_t free = 0;
    while (delegate::take_area(*wireups[0], {0, 1})) ++free;
    REQUIRE(free == limit - 1);
  }
}
