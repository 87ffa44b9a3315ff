// The shm delegate alone: many calls with random delays, areas, faults.
#include <atomic>
#include <random>
#include <thread>

#include "base/judge.h"
#include "catch.h"
#include "members.h"
#include "rounds.h"

using namespace tutti;
using namespace tutti::test;

TEST_CASE("random calls with random delays are all right", "[delegate]") {
  for (const int size : {2, 3, 5, 8, 16})
    run_team(size, [size](Team& team, int rank) {
      std::mt19937 calls(7), delays(static_cast<unsigned>(rank));
      Mixer mixer(team, rank, size);
      for (int i = 0; i < test::rounds(24'000 / (size + 8)); ++i) {
        const Collective collective = kServed[calls() % std::size(kServed)];
        // Mostly short ones, so that entries wrap around between long ones.
        const Count count = calls() % 20 == 0 ? calls() % 30000 : calls() % 40;
        if (delays() % 50 == 0) std::this_thread::yield();
        if (delays() % 300 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        if (!mixer.run(collective, count, static_cast<int>(calls() % static_cast<unsigned>(size))))
          return false;
      }
      return true;
    });
}

TEST_CASE("one kind again and again, at every size around the limits", "[delegate]") {
  const int size = GENERATE(2, 3);
  for (const Collective collective : kServed)
    run_team(size, [collective, size](Team& team, int rank) {
      Mixer mixer(team, rank, size);
      for (const Count count :
           {0, 1, 11, 12, 13, 682, 683, 2047, 2048, 2049, 8191, 8192, 8193, 24577, 200001})
        for (int i = 0; i < 3; ++i)
          if (!mixer.run(collective, count, i % size)) return false;
      for (int i = 0; i < 500; ++i)
        if (!mixer.run(collective, 2, 1)) return false;
      return true;
    });
}

// The chunks are used in turn: after some of these calls from the beginning again, and with either
// kind of store.
TEST_CASE("long calls of all kinds and lengths go round through the chunks", "[delegate]") {
  for (const int size : {2, 3})
    run_team(size, [size](Team& team, int rank) {
      std::mt19937 calls(11);
      Mixer mixer(team, rank, size);
      for (int i = 0; i < test::rounds(400); ++i) {
        const Collective collective = kServed[calls() % std::size(kServed)];
        const Count count = 2000 + calls() % (i % 10 == 0 ? 400'000 : 40'000);
        if (!mixer.run(collective, count, static_cast<int>(calls() % static_cast<unsigned>(size))))
          return false;
      }
      return true;
    });
}

// With either kind of store at their taker, too: a trial of the other comes after so many calls.
TEST_CASE("blocks that are longer than the chunks keep come right again and again", "[delegate]") {
  constexpr int kCalls = static_cast<int>(Judge::kNew + Judge::kFew + 2 * Judge::kTrial);
  for (const Collective collective :
       {Collective::bcast, Collective::scatter, Collective::allgather, Collective::alltoall,
        Collective::gatherv, Collective::allgatherv})
    run_team(2, [collective](Team& team, int rank) {
      Mixer mixer(team, rank, 2);
      for (int i = 0; i < kCalls; ++i)
        if (!mixer.run(collective, 600'001, 1)) return false;
      return true;
    });
}

TEST_CASE("a team that does not poll", "[delegate]") {
  const auto body = [](Team& team, int rank) {
    Mixer mixer(team, rank, 3);
    for (const Collective collective : kServed)
      for (const Count count : {2, 30000})
        for (int i = 0; i < 20; ++i)
          if (!mixer.run(collective, count, i % 3)) return false;
    return true;
  };
  run_team(3, body, {.looks = 1});
}

TEST_CASE("all ranks get the same bits of a sum of doubles", "[delegate]") {
  const int size = GENERATE(2, 5);
  // Each folds all, or one for all where cores are shared; or all share.
  const Count count = GENERATE(900, 40000);
  std::vector<std::vector<double>> results(static_cast<std::size_t>(size));
  run_team(size, [&results, count](Team& team, int rank) {
    std::mt19937_64 random(static_cast<unsigned>(rank));
    std::vector<double> in(static_cast<std::size_t>(count)), out(in.size());
    for (double& x : in)
      x = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 40));
    TeamCall call;
    call.collective = Collective::allreduce;
    call.send = in.data();
    call.recv = out.data();
    call.count = count;
    call.type = types::predefined_type(kDouble);
    call.op = types::predefined_op(kSum);
    const bool good = team.run(call) == Code::ok;
    results[static_cast<std::size_t>(rank)] = out;
    return good;
  });
  for (int rank = 1; rank < size; ++rank)
    CHECK(results[static_cast<std::size_t>(rank)] == results[0]);
}

TEST_CASE("a broadcast unpacks into types with gaps", "[delegate]") {
  run_team(2, [](Team& team, int rank) {
    auto strided = *types::make_vector(30000, 1, 2, *types::predefined_type(kInt));
    std::vector<std::int32_t> ints(60000, -5);
    for (std::size_t i = 0; i < 60000 && rank == 0; i += 2) ints[i] = static_cast<std::int32_t>(i);
    TeamCall call;
    call.collective = Collective::bcast;
    call.into = Buffer::whole(ints.data(), 1, *strided);
    call.block = call.into.bytes;
    if (team.run(call) != Code::ok) return false;
    for (std::size_t i = 0; i < 60000; ++i)
      if (ints[i] != (i % 2 == 0 ? static_cast<std::int32_t>(i) : -5)) return false;
    return true;
  });
}

TEST_CASE("a block that its taker has no room for is an error on every member", "[delegate]") {
  for (const Count bytes : {40, 400'000})
    for (const Collective collective : {Collective::gatherv, Collective::alltoallv})
      run_team(3, [=](Team& team, int rank) {
        const types::Devices devices;
        std::vector<std::byte> memory(1'200'000), into(memory.size());
        const std::vector<Count> given{bytes, bytes, bytes}, displs{0, 400'000, 800'000};
        const std::vector<Count> room{bytes, bytes, bytes - 4};             // of the third's block
        const types::Datatype* const byte = types::predefined_type(0x247);  // MPI_BYTE
        const delegate::Uneven uneven{{memory.data(), byte, given, displs, {}, &devices},
                                      {into.data(), byte, room, displs, {}, &devices}};
        TeamCall call;
        call.collective = collective;
        call.from = Buffer::plain(memory.data(), bytes);
        call.uneven = &uneven;
        explained.clear();
        if (rank == 0 && team.run(call) != Code::truncate) return false;
        if (rank != 0) team.run(call);  // who takes nothing may have left before it is heard of
        if (team.run(TeamCall{}) != Code::truncate) return false;
        // Who has heard of it in the call says so again of the barrier, which has met nothing
        // itself.
        using delegate::FailureCause;
        const bool was_in_earlier = explained.find(" in an earlier call") != std::string::npos;
        const bool may_meet_it = rank == 0 || (rank == 1 && collective == Collective::alltoallv);
        const auto there =
            was_in_earlier ? FailureCause::failed_there : FailureCause::mismatch_there;
        return explained.find("rank 2 gives " + std::to_string(bytes) + " bytes to rank ") == 0 &&
               (cause_said == there ||
                (may_meet_it && was_in_earlier && cause_said == FailureCause::failure));
      });
}

TEST_CASE("a member that has nothing to give spoils its call alone", "[delegate]") {
  Combinations combinations;
  for (const int size : {3, 7})  // more than there are cores, so that one folds for all
    for (const Collective collective : kServed)
      for (const Count count : {3, 1'800, 5'000, 60'000}) {
        if (!combinations.takes_next()) continue;
        run_team(size, [=](Team& team, int rank) {
          Mixer mixer(team, rank, size);
          TeamCall call = mixer.prepare(collective, count, 0);
          if (rank == 0) call.fingerprint = delegate::kHasNothing;
          explained.clear();
          const Code code = team.run(call);
          // Of those who take nothing some have heard of it.
          const bool is_rooted = collective == Collective::reduce ||
                                 collective == Collective::gather ||
                                 collective == Collective::gatherv;
          const bool is_told = code == Code::other && explained.find("rank 0 had no data") == 0 &&
                               cause_said == delegate::FailureCause::failed_there;
          const bool is_well = code == Code::ok && (rank == 0 || is_rooted);
          return mixer.run(collective, count, 0) && (is_well || (rank > 0 && is_told));
        });
      }
}

TEST_CASE("calls that do not match are an error on every member", "[delegate]") {
  run_team(3, [](Team& team, int rank) {
    TeamCall call;
    call.fingerprint = rank == 1 ? 5 : 6;
    const Code first = team.run(call);
    // Also a member that hears first of one who gave up.
    const bool is_named = explained.find("rank 1 calls 5") != std::string::npos &&
                          cause_said == delegate::FailureCause::mismatch;
    explained.clear();
    const Code second = team.run(call);
    const bool is_named_again = explained.find("rank 1 calls 5") != std::string::npos &&
                                explained.ends_with(" in an earlier call");
    return first != Code::ok && is_named && second != Code::ok && is_named_again;
  });
}

// More members than cores, so that one of them folds for all (fold_crowd.cc).
TEST_CASE("an allreduce in place that one member folds, many times", "[delegate]") {
  constexpr int kSize = 7;
  constexpr Count kCount = 1800;
  run_team(kSize, [](Team& team, int rank) {
    std::vector<std::int32_t> ints(kCount);
    for (int turn = 0; turn < 50; ++turn) {
      for (Count i = 0; i < kCount; ++i) ints[static_cast<std::size_t>(i)] = value(rank, i) + turn;
      TeamCall call;
      call.collective = Collective::allreduce;
      call.send = call.recv = ints.data();
      call.count = kCount;
      call.type = types::predefined_type(kInt);
      call.op = types::predefined_op(kSum);
      if (team.run(call) != Code::ok) return false;
      for (Count i = 0; i < kCount; ++i) {
        std::int32_t sum = kSize * turn;
        for (int member = 0; member < kSize; ++member) sum += value(member, i);
        if (ints[static_cast<std::size_t>(i)] != sum) return false;
      }
      if (turn % 3 == 0 && team.run(TeamCall{}) != Code::ok) return false;
    }
    return true;
  });
}

// A member that claimed parts is gone: nobody else may fold, and nobody waits for ever.
TEST_CASE("a call ends when a member that folds for all dies", "[delegate]") {
  constexpr int kSize = 5;
  constexpr Count kCount = 1800;
  constexpr std::uint64_t kCallOne = std::uint64_t{1} << 20 | 2;  // both of its parts
  auto wireups = wireup::in_threads(std::vector<int>(kSize, 0));
  std::vector<int> locals(kSize);
  std::iota(locals.begin(), locals.end(), 0);
  const wireup::Segment& segment = wireups[0]->segment();
  if (!segment.header().is_oversubscribed()) return;  // a core for each: another form serves
  const delegate::AreaGeometry geometry = delegate::geometry_of(segment.header());
  std::byte* const first = segment.area(delegate::kHostArea) + geometry.control_at();
  reinterpret_cast<delegate::MemberCounters*>(first)->claimed.store(kCallOne,
                                                                    std::memory_order_relaxed);
  segment.rank(kSize - 1).gone.store(1, std::memory_order_release);
  std::atomic<int> noticed{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kSize; ++rank)
    threads.emplace_back([&, rank] {
      wireup::Wireup& own = *wireups[static_cast<std::size_t>(rank)];
      const auto team = delegate::make_shm_team(own, locals, rank, delegate::kHostArea, waiting());
      Mixer mixer(*team, rank, kSize);
      if (team->run(mixer.prepare(Collective::allreduce, kCount, 0)) == Code::proc_aborted)
        ++noticed;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(noticed == kSize);
}

TEST_CASE("a member that dies is noticed by those who wait for it", "[delegate]") {
  auto wireups = wireup::in_threads({0, 0, 0});
  const std::vector<int> locals{0, 1, 2};
  std::atomic<int> noticed{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      wireup::Wireup& own = *wireups[static_cast<std::size_t>(rank)];
      const auto team = delegate::make_shm_team(own, locals, rank, 0, waiting());
      if (team->run(TeamCall{}) == Code::proc_aborted) ++noticed;
    });
  // What the daemon does when the process has ended.
  wireups[0]->segment().rank(2).gone.store(1, std::memory_order_release);
  for (std::thread& thread : threads) thread.join();
  CHECK(noticed == 2);
}
