// Worlds open, exchange messages and collectives, and close.
#include "world/world.h"

#include <atomic>
#include <thread>
#include <vector>

#include "ranks.h"

namespace {

using namespace tutti;
using support::Rank;

constexpr Handle kInt = 0x209, kSum = 0x21;

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
  support::run_ranks({0, 0}, greet_and_sum);
}

TEST_CASE("a world of one works", "[world]") {
  support::run_ranks({0}, greet_and_sum);
}

TEST_CASE("eight ranks of one host greet each other and sum", "[world]") {
  support::run_ranks(support::one_host(8), greet_and_sum);
}

TEST_CASE("ranks of two hosts greet each other and sum", "[world]") {
  support::run_ranks({0, 1, 1, 0}, greet_and_sum);
}

TEST_CASE("any number of worlds, one after another", "[world]") {
  for (int round = 0; round < 20; ++round) support::run_ranks({0, 0, 0}, greet_and_sum);
}

TEST_CASE("a helper receives while the program computes", "[world]") {
  std::atomic<bool> was_taken{false};
  const Knobs knobs = support::knobs_of({{"TUTTI_PROGRESS_US", "100"}});
  support::run_ranks(
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
