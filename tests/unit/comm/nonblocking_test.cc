// Nonblocking calls: many at once, ended in any order, freed early, mixed with blocking ones.
#include <algorithm>
#include <random>
#include <thread>

#include "reference.h"

namespace {

using namespace tutti;
using reference::Plan;
using reference::Trial;
using test::Rank;

const types::Datatype& integer() {
  return *types::predefined_type(reference::kInt);
}

struct Pending {
  std::unique_ptr<Trial> trial;
  comm::Request* request;
};

void start_all(const Rank& me, comm::Communicator& comm, types::Count count,
               std::vector<Pending>& pending) {
  for (const Plan& plan : reference::plans(me.size, count)) {
    auto trial = std::make_unique<Trial>(comm, plan);
    auto request = comm::start(comm, trial->call());
    me.expect(request.has_value(), "start " + trial->what());
    if (request) pending.push_back({std::move(trial), *request});
  }
}

void end_all(const Rank& me, std::vector<Pending>& pending) {
  for (Pending& one : pending) {
    comm::wait(me.comm.runtime(), *one.request);
    me.expect(one.request->status().code == Code::ok && one.trial->check(), one.trial->what());
    one.request->release();
  }
  pending.clear();
}

}  // namespace

TEST_CASE("all collectives run at once and end in any order", "[comm][nonblocking]") {
  for (const int size : {1, 2, 3, 5, 8})
    test::run_ranks(test::one_host(size), [](const Rank& me) {
      std::vector<Pending> pending;
      std::mt19937 random(static_cast<unsigned>(me.rank));
      for (const types::Count count : {0, 1, 100, 20000}) {
        start_all(me, me.comm, count, pending);
        // Each rank waits in an order of its own.
        std::shuffle(pending.begin(), pending.end(), random);
        end_all(me, pending);
      }
    });
}

namespace {

// A communicator keeps what the last call of each kind was served by.
void start_in_pairs(const Rank& me) {
  std::vector<Plan> plans;
  for (const types::Count count : {3, 4})
    for (const Plan& plan : reference::plans(me.size, count)) plans.push_back(plan);
  std::vector<Pending> pending;
  for (const Plan& first : plans)
    for (const Plan& second : plans) {
      if (first.collective != second.collective) continue;
      for (const Plan& plan : {first, second}) {
        auto trial = std::make_unique<Trial>(me.comm, plan);
        auto request = comm::start(me.comm, trial->call());
        me.expect(request.has_value(), "start " + trial->what());
        if (request) pending.push_back({std::move(trial), *request});
      }
      end_all(me, pending);
    }
}

}  // namespace

TEST_CASE("a call is served as it says, whatever the one before it said", "[comm][nonblocking]") {
  test::run_ranks(test::one_host(3), start_in_pairs);
  test::run_ranks({0, 0, 1, 1}, start_in_pairs);
}

TEST_CASE("all collectives run at once over three hosts", "[comm][nonblocking][hosts]") {
  test::run_ranks({0, 0, 1, 2, 1}, [](const Rank& me) {
    std::vector<Pending> pending;
    for (const types::Count count : {1, 3000}) {
      start_all(me, me.comm, count, pending);
      std::reverse(pending.begin(), pending.end());
      end_all(me, pending);
    }
  });
}

TEST_CASE("blocking collectives pass nonblocking ones under way", "[comm][nonblocking]") {
  test::run_ranks(test::one_host(4), [](const Rank& me) {
    std::vector<Pending> pending;
    for (int round = 0; round < 20; ++round) {
      Trial slow(me.comm, {coll::Collective::allreduce, 50000, 0, false, nullptr});
      comm::Request* request = *comm::start(me.comm, slow.call());
      for (const Plan& plan : reference::plans(me.size, 10)) {
        Trial quick(me.comm, plan);
        me.expect(comm::run(me.comm, quick.call()) == Code::ok && quick.check(), quick.what());
      }
      comm::wait(me.comm.runtime(), *request);
      me.expect(slow.check(), slow.what());
      request->release();
    }
  });
}

TEST_CASE("hundreds of the same collective keep their order", "[comm][nonblocking]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    std::vector<Pending> pending;
    for (int i = 0; i < 300; ++i) {
      auto trial = std::make_unique<Trial>(
          me.comm, Plan{coll::Collective::bcast, 5 + i % 7, i % me.size, false, nullptr});
      comm::Request* request = *comm::start(me.comm, trial->call());
      pending.push_back({std::move(trial), request});
    }
    std::reverse(pending.begin(), pending.end());
    end_all(me, pending);
  });
}

TEST_CASE("null peers complete at once", "[comm][nonblocking]") {
  test::run_ranks({0}, [](const Rank& me) {
    int value = 5;
    comm::Request* send =
        comm::isend(me.comm, p2p::Mode::synchronous, &value, 1, integer(), comm::kProcNull, 0);
    comm::Request* recv = comm::irecv(me.comm, &value, 1, integer(), comm::kProcNull, 0);
    me.expect(send->is_done() && recv->is_done(), "done");
    me.expect(recv->status().source == comm::kProcNull && recv->status().bytes == 0, "status");
    me.expect(value == 5, "untouched");
    p2p::Status status;
    me.expect(comm::iprobe(me.comm, comm::kProcNull, 0, &status), "probe");
    send->release();
    recv->release();
  });
}

TEST_CASE("messages to oneself, wildcards, probes and cancelled receives", "[comm][nonblocking]") {
  test::run_ranks(test::one_host(2), [](const Rank& me) {
    std::vector<int> out(30000, me.rank), in(30000, -1);
    const types::Count count = 30000;
    comm::Request* recv =
        comm::irecv(me.comm, in.data(), count, integer(), p2p::kAnySource, p2p::kAnyTag);
    comm::Request* send =
        comm::isend(me.comm, p2p::Mode::standard, out.data(), count, integer(), me.rank, 3);
    comm::wait(me.comm.runtime(), *recv);
    comm::wait(me.comm.runtime(), *send);
    me.expect(in == out && recv->status().source == me.rank && recv->status().tag == 3, "to self");
    recv->release();
    send->release();
    const int other = 1 - me.rank;
    comm::Request* greeting =
        comm::isend(me.comm, p2p::Mode::synchronous, out.data(), 7, integer(), other, 9);
    const p2p::Status seen = comm::probe(me.comm, p2p::kAnySource, 9);
    me.expect(seen.source == other && seen.bytes == 7 * 4, "probe");
    me.expect(comm::recv(me.comm, in.data(), 7, integer(), seen.source, seen.tag).bytes == 28,
              "recv");
    comm::wait(me.comm.runtime(), *greeting);
    greeting->release();
    comm::Request* never = comm::irecv(me.comm, in.data(), 1, integer(), other, 77);
    comm::cancel(*never);
    comm::wait(me.comm.runtime(), *never);
    me.expect(never->status().cancelled, "cancelled");
    never->release();
  });
}

TEST_CASE("a request let go early still completes", "[comm][nonblocking]") {
  test::run_ranks(test::one_host(2), [](const Rank& me) {
    std::vector<int> out(200000, me.rank + 1), in(200000, 0);
    const int other = 1 - me.rank;
    comm::isend(me.comm, p2p::Mode::standard, out.data(), 200000, integer(), other, 1)->release();
    const p2p::Status status = comm::recv(me.comm, in.data(), 200000, integer(), other, 1);
    me.expect(status.code == Code::ok && in.front() == other + 1 && in.back() == other + 1, "data");
    comm::CollCall barrier;
    comm::run(me.comm, barrier);  // `out` must live until the other has it
  });
}

TEST_CASE("threads wait for different things at once", "[comm][nonblocking][threads]") {
  const auto body = [](const Rank& me) {
    constexpr int kThreads = 3;
    me.world.enter();
    std::vector<comm::CommRef> comms;
    for (int t = 0; t < kThreads; ++t) comms.push_back(*comm::dup(me.comm));
    me.world.leave();
    const auto work = [&me](comm::Communicator& comm, int seed) {
      std::mt19937 random(static_cast<unsigned>(seed));
      for (int round = 0; round < 40; ++round) {
        me.world.enter();
        const types::Count count = static_cast<types::Count>(random() % 3000);
        Trial trial(comm, {coll::Collective::allreduce, count, 0, false, nullptr});
        if (round % 2 == 0) {
          me.expect(comm::run(comm, trial.call()) == Code::ok && trial.check(), "blocking");
        } else {
          comm::Request* request = *comm::start(comm, trial.call());
          comm::wait(comm.runtime(), *request);
          me.expect(trial.check(), "nonblocking");
          request->release();
        }
        me.world.leave();
      }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back(work, std::ref(*comms[static_cast<std::size_t>(t)]), t);
    for (std::thread& thread : threads) thread.join();
  };
  test::run_ranks(test::one_host(2), body, Knobs::defaults(), world::ThreadLevel::multiple);
}

TEST_CASE("a cancelled communicator ends all calls on it, and no others", "[comm][nonblocking]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    comm::Runtime& runtime = me.comm.runtime();
    auto made = comm::dup(me.comm);
    me.expect(made.has_value(), "dup");
    if (!made) return;
    comm::Communicator& doomed = **made;
    std::int32_t word = me.rank, never = 0;
    // A receive and a collective that cannot end: rank 2 takes no part in it.
    comm::Request* const receive = comm::irecv(doomed, &never, 1, integer(), (me.rank + 1) % 3, 7);
    comm::CollCall sum;
    sum.collective = coll::Collective::barrier;
    comm::Request* collective = nullptr;
    if (me.rank != 2) {
      auto started = comm::start(doomed, sum);
      me.expect(started.has_value(), "start");
      if (started) collective = *started;
    }
    comm::cancel(doomed, Code::proc_aborted);
    for (comm::Request* request : {receive, collective}) {
      if (request == nullptr) continue;
      comm::wait(runtime, *request);
      me.expect(request->status().code == Code::proc_aborted, "a request's code");
      request->release();
    }
    me.expect(comm::run(doomed, sum) == Code::proc_aborted, "a barrier, by the delegate");
    me.expect(comm::send(doomed, p2p::Mode::synchronous, &word, 1, integer(), (me.rank + 1) % 3,
                         8) == Code::proc_aborted,
              "a send");
    me.expect(comm::run(me.comm, sum) == Code::ok, "the communicator that goes on");
  });
}

TEST_CASE("of two collectives that failed each keeps its own reason", "[comm][nonblocking]") {
  test::run_ranks(test::one_host(2), [](const Rank& me) {
    comm::CommRef both = *comm::dup(me.comm);
    const auto broadcast = [&](std::int32_t* words, types::Count count) {
      comm::CollCall call;
      call.collective = Collective::bcast;
      call.recv = words;
      call.recv_count = count;
      call.recv_type = &integer();
      return *comm::start(*both, call);
    };
    std::int32_t first[10] = {}, second[20] = {};
    comm::Request* const shorter = broadcast(first, me.rank == 0 ? 10 : 5);
    comm::Request* const longer = broadcast(second, me.rank == 0 ? 20 : 7);
    for (comm::Request* request : {longer, shorter}) comm::wait(me.comm.runtime(), *request);
    const auto tells = [&](const comm::Request& request, const char* size) {
      const comm::Reason why = request.reason();
      me.expect(why.is_mismatch && why.text.find(size) != std::string::npos, why.text);
    };
    if (me.rank == 1) {
      tells(*shorter, "40 B");
      tells(*longer, "80 B");
    }
    for (comm::Request* request : {shorter, longer}) request->release();
  });
}
