// Calls by levels, on made-up machines of many caches: all kinds, losses, mismatches.
#include <cstring>
#include <random>

#include "catch.h"
#include "delegate/shm/levels.h"
#include "members.h"
#include "rounds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// So many packages of so many caches of so many members. `in_turns`: neighbours in rank order lie
// in different packages.
std::vector<model::BoundAt> places_of(int packages, int caches, int each, bool in_turns = false) {
  std::vector<model::BoundAt> places;
  const int size = packages * caches * each;
  for (int i = 0; i < size; ++i) {
    const int at = in_turns ? i % packages * (size / packages) + i / packages : i;
    places.push_back({at / each, at / each / caches, at / each / caches});
  }
  return places;
}

Setting on(const std::vector<model::BoundAt>& places) {
  Setting setting;
  setting.looks = 10;  // there are not really so many cores
  setting.places = places;
  return setting;
}

// As first calls of a test: one that makes the plan, one by levels.
bool has_met(Team& team) {
  return team.run(TeamCall{}) == Code::ok && team.run(TeamCall{}) == Code::ok;
}

TeamCall sum_of(const double& given, double& result) {
  TeamCall call;
  call.collective = Collective::allreduce;
  call.send = &given;
  call.recv = &result;
  call.count = 1;
  call.type = types::predefined_type(kDouble);
  call.op = types::predefined_op(kSum);
  return call;
}

}  // namespace

// Two caches of eight in two packages: 0 hears those up to 7, 8 those up to 15.
TEST_CASE("who hears others speaks after them, once", "[meet]") {
  const auto places = places_of(2, 1, 8);
  Members members(16);
  auto teams = members.team(delegate::BlockReads::off, places);
  std::vector<int> all(16);
  std::iota(all.begin(), all.end(), 0);
  const auto spoken = [&](int member, std::uint64_t number) {
    const wireup::Segment& segment = members.wireups[0]->segment();
    const delegate::AreaGeometry geometry = delegate::geometry_of(segment.header());
    std::byte* const entries = segment.area(members.area) +
                               static_cast<std::size_t>(member) * geometry.slot_bytes +
                               geometry.entries_at();
    const auto* const entry = reinterpret_cast<const delegate::AreaEntry*>(
        entries + number % delegate::kEntries * geometry.entry_stride());
    return static_cast<std::uint32_t>(entry->flag.load(std::memory_order_relaxed)) == number;
  };
  for (std::uint64_t number = 1; number <= 3; ++number) {
    Everyone everyone(teams, number == 2 ? Collective::barrier : Collective::allreduce, 3, 0);
    for (const int member : all) everyone.begin(member);
    everyone.run(8).step();
    CHECK(spoken(8, number) == (number == 1));  // flat at first
    for (int member = 9; member < 15; ++member) everyone.run(member).step();
    everyone.run(8).step();
    CHECK(spoken(14, number));
    CHECK(spoken(8, number) == (number == 1));
    everyone.run(15).step();
    everyone.run(8).step();
    CHECK(spoken(8, number));
    REQUIRE(everyone.finish(all));
    CHECK(everyone.is_right());
  }
}

// Each cache's first hears its cache, each NUMA node's first those of its four caches, too.
TEST_CASE("256 members meet by two levels below the top", "[meet]") {
  constexpr int kSize = 256;
  std::vector<model::BoundAt> places;
  for (int i = 0; i < kSize; ++i) places.push_back({i / 8, i / 32, i / 128});
  const std::vector<int> above = delegate::plan_levels(places);
  REQUIRE((above[255] == 248 && above[248] == 224 && above[224] == -1));
  Members members(kSize);
  auto teams = members.team(delegate::BlockReads::off, places);
  std::vector<int> all(kSize);
  std::iota(all.rbegin(), all.rend(), 0);
  for (int call = 0; call < 24; ++call) {
    const Collective kinds[] = {Collective::allreduce, Collective::barrier, Collective::reduce,
                                Collective::bcast};
    Everyone everyone(teams, kinds[call < 4 ? call : call < 14 ? 3 : 2], 3, call * 11 % kSize);
    for (const int member : all) everyone.begin(member);
    REQUIRE(everyone.finish(all));
    CHECK(everyone.is_right());
  }
}

TEST_CASE("random calls by levels with random delays are all right", "[meet]") {
  for (const auto& places :
       {places_of(2, 1, 8), places_of(2, 2, 4, true), places_of(2, 4, 3), places_of(2, 4, 8)}) {
    const int size = static_cast<int>(places.size());
    REQUIRE(delegate::plan_levels(places)[static_cast<std::size_t>(size - 1)] >= 0);
    run_team(
        size,
        [size](Team& team, int rank) {
          std::mt19937 calls(7), delays(static_cast<unsigned>(rank));
          Mixer mixer(team, rank, size);
          for (int i = 0; i < test::rounds(24'000 / (size + 8)); ++i) {
            const Collective collective = kServed[calls() % std::size(kServed)];
            const Count count = calls() % 20 == 0 ? calls() % 10'000 : calls() % 40;
            if (delays() % 50 == 0) std::this_thread::yield();
            if (delays() % 300 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
            if (!mixer.run(collective, count, static_cast<int>(calls() % unsigned(size))))
              return false;
          }
          return true;
        },
        on(places));
  }
}

// Of some kinds callers learn nothing of each other, so that entries are claimed one by one; in
// between there is one that tells them.
TEST_CASE("one kind again and again by levels", "[meet]") {
  for (const Collective collective : kServed)
    run_team(
        16,
        [collective](Team& team, int rank) {
          Mixer mixer(team, rank, 16);
          if (!has_met(team)) return false;
          for (int i = 0; i < test::rounds(120); ++i)
            if (!mixer.run(collective, i % 5, i / 20 % 16)) return false;
          for (int i = 0; i < test::rounds(120); ++i)
            if (!mixer.run(i % 13 == 0 ? Collective::reduce : collective, 3, i % 16)) return false;
          for (const Count count : {1, 12, 13, 128, 129, 300})
            if (!mixer.run(collective, count, 9) || !mixer.run(Collective::gather, 2, 9))
              return false;
          return true;
        },
        on(places_of(2, 2, 4)));
}

// The first call, in which all hear all and make the plan, as those that follow.
TEST_CASE("all members get the same bits by levels, in every call, in place, too", "[meet]") {
  std::vector<double> sums(16);
  double in_rank_order = 0;
  for (int rank = 0; rank < 16; ++rank) in_rank_order += 1.0 / (3 + rank);
  run_team(
      16,
      [&sums](Team& team, int rank) {
        const double mine = 1.0 / (3 + rank);
        double& sum = sums[static_cast<std::size_t>(rank)];
        double first = 0;
        if (team.run(sum_of(mine, first)) != Code::ok || team.run(sum_of(mine, sum)) != Code::ok ||
            std::memcmp(&first, &sum, sizeof sum) != 0)
          return false;
        double in_place = mine;
        return team.run(sum_of(in_place, in_place)) == Code::ok &&
               std::memcmp(&in_place, &sum, sizeof sum) == 0;
      },
      on(places_of(2, 1, 8)));
  for (const double sum : sums) CHECK(std::memcmp(&sum, &sums[0], sizeof sum) == 0);
  CHECK(std::memcmp(&in_rank_order, &sums[0], sizeof in_rank_order) != 0);  // so the order shows
}

TEST_CASE("a member that has nothing spoils its call by levels alone, and is named", "[meet]") {
  for (const int poor : {0, 1, 4, 6, 8, 15})
    for (const Collective collective : {Collective::allreduce, Collective::reduce})
      run_team(
          16,
          [=](Team& team, int rank) {
            if (!has_met(team)) return false;
            Mixer mixer(team, rank, 16);
            TeamCall call = mixer.prepare(collective, 3, 2);
            if (rank == poor) call.fingerprint = delegate::kHasNothing;
            explained.clear();
            const Code code = team.run(call);
            const bool is_named =
                code != Code::ok &&
                explained.find("rank " + std::to_string(poor) + " had no data") == 0;
            const bool may_be_well =
                rank == poor || (collective == Collective::reduce && rank != 2);
            return (is_named || (may_be_well && code == Code::ok)) &&
                   mixer.run(Collective::allreduce, 3, 0) && mixer.run(collective, 3, 0);
          },
          on(places_of(2, 2, 4)));
}

TEST_CASE("calls by levels that do not match are an error on every member", "[meet]") {
  for (const int other : {0, 4, 7, 8, 15})
    for (const Collective theirs : {Collective::barrier, Collective::bcast, Collective::allgather})
      run_team(
          16,
          [=](Team& team, int rank) {
            if (!has_met(team)) return false;
            Mixer mixer(team, rank, 16);
            TeamCall call = mixer.prepare(rank == other ? theirs : Collective::allreduce, 2, other);
            call.fingerprint = rank == other ? 5 : 6;
            explained.clear();
            const Code code = team.run(call);
            const bool is_named =
                explained.find("rank " + std::to_string(other) + " calls 5") != std::string::npos;
            // A root of a bcast takes from nobody.
            if (rank == other && theirs == Collective::bcast && code == Code::ok)
              return team.run(TeamCall{}) != Code::ok &&
                     cause_said == delegate::FailureCause::mismatch_there;
            return code != Code::ok && is_named && team.run(TeamCall{}) != Code::ok;
          },
          on(places_of(2, 2, 4)));
}

// Where calls that do not match go on, members might plan at different times.
TEST_CASE("where one member overlooks mismatches there are no levels", "[meet]") {
  Setting setting = on(places_of(2, 1, 8));
  setting.how = [](int rank) {
    delegate::Waiting how = waiting();
    if (rank == 3) how.overlook = [](void*, std::string) {};
    return how;
  };
  run_team(
      16,
      [](Team& team, int rank) {
        TeamCall call;
        call.fingerprint = 6;
        if (rank == 3) call.fingerprint = 5;
        const bool is_told = team.run(call) != Code::ok;  // hears rank 3 itself
        // Rank 3 goes on, until it waits for those who gave up.
        return (is_told || rank == 3) && team.run(TeamCall{}) != Code::ok;
      },
      setting);
}

TEST_CASE("a member that dies is noticed by all who meet by levels", "[meet]") {
  const auto places = places_of(2, 2, 4);
  for (const int lost : {0, 4, 7, 8, 15}) {
    auto wireups = wireup::in_threads(std::vector<int>(16, 0));
    give_cores(*wireups[0], 16);
    std::vector<int> locals(16);
    std::iota(locals.begin(), locals.end(), 0);
    std::atomic<int> met{0}, noticed{0};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 16; ++rank)
      threads.emplace_back([&, rank] {
        wireup::Wireup& own = *wireups[static_cast<std::size_t>(rank)];
        const auto team = delegate::make_shm_team(
            own, locals, rank, 0, waiting(), {delegate::BlockReads::off, place_of(places, rank)});
        if (has_met(*team)) ++met;
        while (met < 16) std::this_thread::yield();
        if (rank != lost && team->run(TeamCall{}) == Code::proc_aborted) ++noticed;
      });
    while (met < 16) std::this_thread::yield();
    wireups[0]
        ->segment()
        .rank(static_cast<unsigned>(lost))
        .gone.store(1, std::memory_order_release);
    for (std::thread& thread : threads) thread.join();
    CHECK(noticed == 15);
  }
}
