// Worlds open, exchange messages and collectives, and close.
#include "world/world.h"

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "ranks.h"
#include "world/helper.h"

namespace {

using namespace tutti;
using test::Rank;

constexpr Handle kInt = 0x209, kSum = 0x21;

comm::CollCall sum_of(const std::vector<int>& mine, std::vector<int>& sum) {
  comm::CollCall call;
  call.collective = coll::Collective::allreduce;
  call.send = mine.data();
  call.recv = sum.data();
  call.recv_count = static_cast<types::Count>(mine.size());
  call.recv_type = types::predefined_type(kInt);
  call.op = types::predefined_op(kSum);
  return call;
}

void greet_and_sum(const Rank& me) {
  comm::CollCall barrier;
  barrier.collective = coll::Collective::barrier;
  me.expect(comm::run(me.comm, barrier) == Code::ok, "barrier");
  const types::Datatype& type = *types::predefined_type(kInt);
  const int right = (me.rank + 1) % me.size, left = (me.rank + me.size - 1) % me.size;
  const int mine = 100 + me.rank;
  int got = 0;
  me.expect(comm::send(me.comm, p2p::Mode::standard, &mine, 1, type, right, 7) == Code::ok, "send");
  const p2p::Status status = comm::recv(me.comm, &got, 1, type, left, 7);
  me.expect(status.code == Code::ok && status.source == left && got == 100 + left, "recv");
  int sum = 0;
  comm::CollCall call;
  call.collective = coll::Collective::allreduce;
  call.send = &mine;
  call.recv = &sum;
  call.recv_count = 1;
  call.recv_type = &type;
  call.op = types::predefined_op(kSum);
  me.expect(comm::run(me.comm, call) == Code::ok, "allreduce");
  me.expect(sum == 100 * me.size + me.size * (me.size - 1) / 2, "sum");
}

}  // namespace

TEST_CASE("two ranks of one host greet each other and sum", "[world]") {
  test::run_ranks({0, 0}, greet_and_sum);
}

TEST_CASE("a world of one works", "[world]") {
  test::run_ranks({0}, greet_and_sum);
}

TEST_CASE("eight ranks of one host greet each other and sum", "[world]") {
  test::run_ranks(test::one_host(8), greet_and_sum);
}

TEST_CASE("ranks of two hosts greet each other and sum", "[world]") {
  test::run_ranks({0, 1, 1, 0}, greet_and_sum);
}

TEST_CASE("any number of worlds, one after another", "[world]") {
  for (int round = 0; round < 20; ++round) test::run_ranks({0, 0, 0}, greet_and_sum);
}

TEST_CASE("a helper receives while the program computes", "[world]") {
  std::atomic<bool> was_taken{false};
  const Knobs knobs = test::knobs_with({{"TUTTI_PROGRESS_US", "100"}});
  test::run_ranks(
      {0, 0},
      [&was_taken](const Rank& me) {
        const types::Datatype& type = *types::predefined_type(kInt);
        std::vector<int> words(1 << 20, me.rank);
        me.expect(me.world.is_gated(), "calls and helper share the gate");
        me.world.enter();
        if (me.rank == 0) {
          comm::send(me.comm, p2p::Mode::synchronous, words.data(), 1 << 20, type, 1, 7);
          was_taken.store(true);
        } else {
          comm::Request* const request = comm::irecv(me.comm, words.data(), 1 << 20, type, 0, 7);
          me.world.leave();
          while (!was_taken.load()) std::this_thread::yield();  // "computing": no call
          me.world.enter();
          comm::wait(me.comm.runtime(), *request);
          me.expect(words.front() == 0 && words.back() == 0, "all words came");
          request->release();
        }
        greet_and_sum(me);
        me.world.leave();
      },
      knobs);
}

TEST_CASE("a helper has a core where the job leaves one for each rank's", "[world][helper]") {
  wireup::SegmentFacts facts{};
  facts.ranks = 4, facts.machine_ranks = 2;
  for (const auto& [cores, has_core] :
       {std::pair{2U, false}, {3U, false}, {4U, true}, {16U, true}}) {
    facts.cores = cores;
    CHECK(world::Helper::has_core(facts) == has_core);
  }
  facts.ranks = facts.machine_ranks = 1;  // nobody to move anything for
  CHECK_FALSE(world::Helper::has_core(facts));
}

TEST_CASE("a helper moves a long collective by itself while the program computes",
          "[world][helper]") {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  if (CPU_COUNT(&allowed) < 2) return;  // no core is free, and so nobody helps
  constexpr std::uint32_t kCores = 64;  // as if
  test::run_ranks(
      {0, 0},
      [](const Rank& me) {
        me.expect(!me.world.is_gated(), "nobody helps before there is work");
        for (int round = 0; round < 3; ++round) {
          const std::vector<int> mine(1 << 18, me.rank + 1);
          std::vector<int> sum(mine.size());
          std::atomic<bool> is_done = false;
          me.world.enter();
          comm::Request* const request = *comm::start(me.comm, sum_of(mine, sum));
          request->when_done(
              [](void* self, const comm::Request&) {
                static_cast<std::atomic<bool>*>(self)->store(true);
              },
              &is_done);
          me.world.help();
          me.world.leave();
          if (!me.world.is_gated()) return me.expect(false, "nobody helps");
          while (!is_done.load()) std::this_thread::yield();  // "computing": no call
          me.world.enter();
          comm::wait(me.comm.runtime(), *request);
          me.expect(request->status().code == Code::ok, "ends well");
          me.expect(sum.front() == 3 && sum.back() == 3, "the sum is right");
          request->release();
          me.world.leave();
        }
        me.world.enter();
        greet_and_sum(me);
        me.world.leave();
      },
      Knobs::defaults(), world::ThreadLevel::single, kCores);
}
