// Blocking collectives on every path: chosen, forced by name, through the delegate.
#include <set>
#include <string>

#include "comm/state.h"
#include "reference.h"

namespace {

using namespace tutti;
using reference::Collective;
using reference::Plan;
using reference::Trial;
using test::Rank;

void try_plan(const Rank& me, comm::Communicator& comm, const Plan& plan, const char* how) {
  Trial trial(comm, plan);
  const Code code = comm::run(comm, trial.call());
  me.expect(code == Code::ok && trial.check(),
            trial.what() + " by " + how + ", code " + std::to_string(static_cast<int>(code)));
}

void all_chosen(const Rank& me) {
  for (const types::Count count : {0, 1, 3, 64, 1000, 30011})
    for (const Plan& plan : reference::plans(me.size, count)) try_plan(me, me.comm, plan, "choice");
}

void all_forced(const Rank& me) {
  for (const coll::Algorithm& algorithm : coll::catalogue()) {
    comm::force(me.comm, std::string(coll::name_of(algorithm.collective)) + "=" + algorithm.name);
    for (const types::Count count : {0, 1, 5, 777})
      for (const Plan& plan : reference::plans(me.size, count))
        if (plan.collective == algorithm.collective) try_plan(me, me.comm, plan, algorithm.name);
  }
  comm::force(me.comm, "");
}

void all_ordered(const Rank& me) {
  const auto compose = reference::compose_op();
  for (const types::Count count : {0, 1, 7, 500})
    for (Plan plan : reference::plans(me.size, count)) {
      const bool reduces =
          plan.collective == Collective::reduce || plan.collective == Collective::allreduce ||
          plan.collective == Collective::reduce_scatter || plan.collective == Collective::scan ||
          plan.collective == Collective::exscan;
      if (!reduces) continue;
      plan.op = compose.get();
      try_plan(me, me.comm, plan, "choice");
      for (const coll::Algorithm& algorithm : coll::catalogue()) {
        if (algorithm.collective != plan.collective || algorithm.needs_commutative) continue;
        comm::force(me.comm, std::string(coll::name_of(plan.collective)) + "=" + algorithm.name);
        try_plan(me, me.comm, plan, algorithm.name);
      }
      comm::force(me.comm, "");
    }
}

// Every schedule that a communicator has made, of either kind.
std::set<const comm::Prepared*> schedules_of(const comm::Communicator& comm) {
  std::set<const comm::Prepared*> all;
  for (const auto& [key, prepared] : comm.state().prepared) all.insert(prepared.get());
  for (const auto& [key, prepared] : comm.state().prepared_by_counts) all.insert(prepared.get());
  return all;
}

// By schedules only, as between hosts: a call makes one, the same call again makes none.
void all_kept(const Rank& me) {
  std::set<Collective> kept;
  for (const Plan& plan : reference::plans(me.size, 64)) {
    const auto before = schedules_of(me.comm);
    try_plan(me, me.comm, plan, "a schedule");
    const auto once = schedules_of(me.comm);
    try_plan(me, me.comm, plan, "the same schedule");
    me.expect(schedules_of(me.comm) == once,
              std::string(coll::name_of(plan.collective)) + " made its schedule again");
    if (once != before) kept.insert(plan.collective);
  }
  for (const CollectiveRow& row : kCollectiveRows)
    me.expect(kept.contains(row.collective), std::string(row.name) + " keeps no schedule");
}

constexpr int kSizes[] = {1, 2, 3, 4, 5, 7, 8};

}  // namespace

TEST_CASE("every collective is right on one host", "[comm]") {
  for (const int size : kSizes) test::run_ranks(test::one_host(size), all_chosen);
}

TEST_CASE("every algorithm of the catalogue is right when forced", "[comm]") {
  for (const int size : kSizes) test::run_ranks(test::one_host(size), all_forced);
}

TEST_CASE("operations that do not commute keep the order of ranks", "[comm]") {
  for (const int size : {2, 3, 5, 8}) test::run_ranks(test::one_host(size), all_ordered);
}

TEST_CASE("every collective is right over two and three hosts", "[comm]") {
  test::run_ranks({0, 0, 1, 1}, all_chosen);
  test::run_ranks({0, 1, 0, 2, 1}, all_chosen);
}

TEST_CASE("schedules are kept, of every collective", "[comm]") {
  test::run_ranks({0, 0, 1, 1}, all_kept);
}

TEST_CASE("every algorithm is right over two hosts", "[comm]") {
  test::run_ranks({0, 0, 1, 1, 1}, all_forced);
}

TEST_CASE("a broadcast between different descriptions of the same bytes", "[comm]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    types::Datatype& integer = *types::predefined_type(reference::kInt);
    auto every_other = *types::make_vector(500, 1, 2, integer);
    every_other->commit();
    for (int round = 0; round < 2; ++round) {
      comm::force(me.comm, round == 0 ? "" : "bcast=binomial");
      std::vector<std::int32_t> ints(1000, -1);
      const bool strided = me.rank == 1;
      for (int i = 0; i < 500 && me.rank == 0; ++i) ints[static_cast<std::size_t>(i)] = i;
      comm::CollCall call;
      call.collective = Collective::bcast;
      call.recv = ints.data();
      call.recv_count = strided ? 1 : 500;
      call.recv_type = strided ? every_other.get() : &integer;
      me.expect(comm::run(me.comm, call) == Code::ok, "bcast");
      for (int i = 0; i < 500; ++i) {
        const int at = strided ? 2 * i : i;
        me.expect(ints[static_cast<std::size_t>(at)] == i, "strided element");
        if (strided) me.expect(ints[static_cast<std::size_t>(at) + 1] == -1, "gap untouched");
      }
    }
  });
}

TEST_CASE("a forced delegate gives way where it cannot serve, and is an error over hosts",
          "[comm][hosts]") {
  const auto sums = [](const Rank& me) {
    Trial trial(me.comm, {Collective::allreduce, 9, 0, false, nullptr});
    comm::Request* request = *comm::start(me.comm, trial.call());
    comm::wait(me.comm.runtime(), *request);
    me.expect(trial.check(), "nonblocking");
    request->release();
    Trial alone(me.world.self_comm(), {Collective::allreduce, 9, 0, false, nullptr});
    me.expect(comm::run(me.world.self_comm(), alone.call()) == Code::ok && alone.check(), "alone");
    try_plan(me, me.comm, {Collective::allreduce, 9, 0, false, nullptr}, "shm");
  };
  const Knobs forced = test::knobs_with({{"TUTTI_ALLREDUCE", "shm"}});
  test::run_ranks(test::one_host(3), sums, forced);
  const auto refused = [](const Rank& me) {
    Trial trial(me.comm, {Collective::allreduce, 9, 0, false, nullptr});
    me.expect(comm::run(me.comm, trial.call()) == Code::unsupported, "refused");
  };
  test::run_ranks({0, 1}, refused, forced);
}

TEST_CASE("schedules are kept, those with blocks of their own sizes too", "[comm]") {
  test::run_ranks({0, 1}, [](const Rank& me) {
    const auto kept = [&] { return me.comm.state().prepared_by_counts.size(); };
    const auto gather = [&](types::Count count) {
      try_plan(me, me.comm, {Collective::allgatherv, count, 0, false, nullptr}, "kept");
    };
    gather(5);
    gather(5);
    me.expect(kept() == 1, "the same counts, one schedule");
    gather(6);
    me.expect(kept() == 2, "other counts, another one");
    try_plan(me, me.comm, {Collective::allreduce, 5, 0, false, nullptr}, "kept");
    const std::size_t others = me.comm.state().prepared.size();
    for (types::Count count = 10; count < 200; ++count) gather(count);
    me.expect(kept() == comm::Communicator::State::kMostPrepared, "no more than so many");
    me.expect(others > 0 && me.comm.state().prepared.size() == others, "the others stay");
  });
}

TEST_CASE("members that call different collectives are told", "[comm]") {
  test::run_ranks(test::one_host(2), [](const Rank& me) {
    comm::CommRef both = *comm::dup(me.comm);
    std::int32_t values[4] = {1, 2, 3, 4};
    std::int32_t sums[4] = {};
    comm::CollCall call;
    call.collective = Collective::allreduce;
    call.send = values;
    call.recv = sums;
    call.recv_count = me.rank == 0 ? 4 : 3;
    call.recv_type = types::predefined_type(reference::kInt);
    call.op = types::predefined_op(reference::kSum);
    me.expect(comm::run(*both, call) != Code::ok, "a mismatch is an error");
  });
}
