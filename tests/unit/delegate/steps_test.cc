// Calls that are begun and stepped: one thread steps all members, in any order, and some are
// cancelled in the middle.
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "catch.h"
#include "members.h"
#include "rounds.h"

using namespace tutti;
using namespace tutti::test;
using delegate::StepResult;
using delegate::TeamRun;

TEST_CASE("begun calls are stepped by one thread, members in any order", "[delegate][steps]") {
  for (const int size : {2, 3, 5}) {
    Members members(size);
    auto teams = members.team();
    std::mt19937 random(static_cast<unsigned>(size));
    for (int i = 0; i < 150; ++i) {
      const Count count = random() % 4 == 0 ? random() % 30'000 : random() % 40;
      const Collective collective = kServed[random() % std::size(kServed)];
      Everyone all(teams, collective, count, static_cast<int>(random()) & 1);
      for (int member = 0; member < size; ++member) all.begin(member);
      int over = 0, steps = 0;
      std::vector<bool> is_over(Members::at(size));
      while (over < size && ++steps < kMostSteps) {
        const int member = static_cast<int>(random() % static_cast<unsigned>(size));
        if (is_over[Members::at(member)] || all.run(member).step() != StepResult::over) continue;
        is_over[Members::at(member)] = true;
        ++over;
      }
      INFO(size << " members, collective " << static_cast<int>(collective) << ", " << count);
      REQUIRE(all.is_right());
    }
  }
}

TEST_CASE("of several begun calls only the last is stepped", "[delegate][steps]") {
  Members members(3);
  auto teams = members.team();
  Everyone first(teams, Collective::allreduce, 20'000, 0);
  Everyone second(teams, Collective::bcast, 3, 1);
  Everyone third(teams, Collective::alltoall, 9'000, 0);
  for (int member = 0; member < 3; ++member)
    for (Everyone* call : {&first, &second, &third}) call->begin(member);
  for (int steps = 0, over = 0; over < 3 && steps < kMostSteps; ++steps) {
    over = 0;
    for (int member = 2; member >= 0; --member)
      if (third.run(member).step() == StepResult::over) ++over;
  }
  REQUIRE(first.is_right());
  REQUIRE(second.is_right());
  REQUIRE(third.is_right());
}

TEST_CASE("calls of two teams, begun in another order by each member", "[delegate][steps]") {
  Members members(2);
  auto one = members.team(), other = members.team();
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    Everyone a(one, Collective::allreduce, i % 10 == 0 ? 25'000 : 5, 0);
    Everyone b(other, Collective::allgather, i % 7 == 0 ? 12'000 : 2, 0);
    a.begin(0), b.begin(0);
    b.begin(1), a.begin(1);
    int steps = 0;
    for (bool is_over = false; !is_over && ++steps < kMostSteps;) {
      is_over = true;
      for (int turn = 0; turn < 4; ++turn) {
        Everyone& call = random() % 2 == 0 ? a : b;
        call.run(static_cast<int>(random() % 2)).step();
      }
      for (Everyone* call : {&a, &b})
        for (int member = 0; member < 2; ++member)
          is_over = call->run(member).step() == StepResult::over && is_over;
    }
    REQUIRE(a.is_right());
    REQUIRE(b.is_right());
  }
}

TEST_CASE("a call that is waited for comes after those begun before", "[delegate][steps]") {
  Members members(2);
  auto teams = members.team();
  for (int i = 0; i < 50; ++i) {
    Everyone begun(teams, Collective::allreduce, i % 2 == 0 ? 4 : 20'000, 0);
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int member = 0; member < 2; ++member)
      threads.emplace_back([&, member] {
        begun.begin(member);
        if (member == 1) begun.run(member).step();
        Mixer mixer(*teams[Members::at(member)], member, 2);
        if (mixer.run(Collective::gather, 30, 1)) ++good;
      });
    for (std::thread& thread : threads) thread.join();
    REQUIRE(good == 2);
    REQUIRE(begun.is_right());
  }
}

TEST_CASE("a team is cancelled in the middle of a call", "[delegate][steps]") {
  Combinations combinations;
  for (int steps_before = 0; steps_before < 20; ++steps_before) {
    if (!combinations.takes_next()) continue;
    Members members(3);
    auto teams = members.team();
    auto others = members.team();
    Everyone call(teams, Collective::allreduce, 900'000, 0);
    Everyone queued(teams, Collective::barrier, 0, 0);
    for (int member = 0; member < 3; ++member) call.begin(member), queued.begin(member);
    for (int i = 0; i < steps_before; ++i) call.run(i % 3).step();
    teams[1]->cancel(Code::proc_aborted);
    for (Everyone* each : {&call, &queued}) {
      CHECK(each->run(1).step() == StepResult::over);
      CHECK(each->run(1).code() == Code::proc_aborted);
    }
    for (int member : {0, 2})
      for (Everyone* each : {&call, &queued}) {
        int steps = 0;
        while (each->run(member).step() != StepResult::over && ++steps < kMostSteps) {
        }
        REQUIRE(steps < kMostSteps);
        CHECK(each->run(member).code() == Code::proc_aborted);
      }
    CHECK(teams[1]->run(TeamCall{}) == Code::proc_aborted);
    // Another team of the same members goes on.
    Everyone alive(others, Collective::barrier, 0, 0);
    for (int member = 0; member < 3; ++member) alive.begin(member);
    for (int i = 0; i < 9; ++i) alive.run(i % 3).step();
    REQUIRE(alive.is_right());
  }
}

TEST_CASE("to let go of a call that is not over cancels its team", "[delegate][steps]") {
  Members members(2);
  auto teams = members.team();
  teams[0]->begin(TeamCall{});
  CHECK(teams[0]->run(TeamCall{}) == Code::other);
  CHECK(teams[1]->run(TeamCall{}) == Code::other);
}

TEST_CASE("a member that dies ends the begun calls of the others", "[delegate][steps]") {
  Members members(3);
  auto teams = members.team();
  Everyone call(teams, Collective::allreduce, 900'000, 0);
  for (int member = 0; member < 3; ++member) call.begin(member);
  for (int i = 0; i < 10; ++i) call.run(i % 3).step();
  // What the daemon does when the process has ended.
  members.wireups[0]->segment().rank(2).gone.store(1, std::memory_order_release);
  for (int member : {0, 1}) {
    int steps = 0;
    while (call.run(member).step() != StepResult::over && ++steps < kMostSteps) {
    }
    REQUIRE(steps < kMostSteps);
    CHECK(call.run(member).code() == Code::proc_aborted);
  }
}

TEST_CASE("long blocks: own ones are moved, and the first part given, before others have come",
          "[delegate][steps]") {
  constexpr std::size_t kBlock = 64 << 10;
  Members members(2);
  for (std::uint32_t member = 0; member < 2; ++member)  // nobody may read, so all goes by chunks
    members.words.push_back(std::make_unique<transport::shm::SingleCopy>(
        members.wireups[member]->segment(), member, false));
  auto teams = members.team(delegate::BlockReads::judged);
  std::array<std::vector<char>, 2> in;
  std::vector<char> out(2 * kBlock);
  std::array<TeamCall, 2> calls;
  std::array<std::unique_ptr<TeamRun>, 2> runs;
  const auto begin = [&](std::size_t member) {
    in[member].assign(kBlock, member == 0 ? 'a' : 'b');
    TeamCall& call = calls[member] = {};
    call.collective = Collective::gather;
    call.block = kBlock;
    call.from = Buffer::plain(in[member].data(), kBlock);
    if (member == 0) call.into = Buffer::plain(out.data(), 2 * kBlock);
    runs[member] = teams[member]->begin(call);
    runs[member]->step();
    return runs[member]->step() != StepResult::over;
  };
  const auto finish = [&] {
    for (int i = 0; i < kMostSteps; ++i) {
      const bool is_over = runs[0]->step() == StepResult::over;
      if (runs[1]->step() == StepResult::over && is_over) return true;
    }
    return false;
  };
  REQUIRE(begin(0));
  CHECK(out[kBlock - 1] == 'a');
  begin(1);
  REQUIRE(finish());

  out.assign(2 * kBlock, '?');
  REQUIRE(begin(1));          // waits to hear the way
  in[1].assign(kBlock, 'c');  // which no program may do: what was given by then does not change
  begin(0);
  REQUIRE(finish());
  CHECK(out[kBlock] == 'b');
  CHECK(out[2 * kBlock - 1] == 'c');
}
