// Collectives and messages whose buffers lie in any kind of memory, drawn for each rank and buffer:
// no member knows another's, so no choice may rest on it.
#include <random>

#include "comm/state.h"
#include "fake_device.h"
#include "reference.h"
#include "rounds.h"

namespace {

using namespace tutti;
using reference::Collective;
using reference::Plan;
using reference::Trial;
using test::FakeDevice;
using test::Rank;

constexpr Handle kFloat16 = 0x24a;

// A rank's devices and luck.
class Machine {
 public:
  Machine(const Rank& me, unsigned seed)
      : random_(seed * 100 + static_cast<unsigned>(me.rank)), one_(0, options(seed)), two_(1, {}) {
    me.world.endpoint().devices().add(one_);
    me.world.endpoint().devices().add(two_);
  }
  // The same bytes in memory of some kind; null: they stay where they are.
  template <class T>
  T* place(const std::vector<T>& content) {
    const auto drawn = random_() % 3;
    if (drawn == 2 || content.empty()) return nullptr;
    FakeDevice& device = drawn == 0 ? one_ : two_;
    auto* const at = reinterpret_cast<T*>(device.take(content.size() * sizeof(T)));
    std::copy(content.begin(), content.end(), seen(at));
    return at;
  }
  template <class T>
  T* seen(const T* at) const {
    const FakeDevice& device = one_.owns(at) ? one_ : two_;
    return reinterpret_cast<T*>(device.seen(at));
  }
  std::mt19937& random() { return random_; }

 private:
  static test::FakeDeviceOptions options(unsigned seed) { return {seed, 20, -1}; }
  std::mt19937 random_;
  FakeDevice one_, two_;
};

// The machine outlives the world: it is kept until all ranks have ended.
using Machines = std::vector<std::unique_ptr<Machine>>;

void run_machines(const std::vector<int>& hosts, unsigned seed,
                  const std::function<void(const Rank&, Machine&)>& body,
                  const Knobs& knobs = Knobs::defaults()) {
  Machines machines(hosts.size());
  test::run_ranks(
      hosts,
      [&](const Rank& me) {
        auto& machine = machines[static_cast<std::size_t>(me.rank)];
        machine = std::make_unique<Machine>(me, seed);
        body(me, *machine);
      },
      knobs);
}

// One call with its buffers anywhere; blocking or not.
void try_plan(const Rank& me, Machine& machine, const Plan& plan, const char* how) {
  Trial trial(me.comm, plan);
  comm::CollCall call = trial.call();
  if (call.send != nullptr)
    if (const auto* at = machine.place(trial.send())) call.send = at;
  std::int32_t* const into = call.recv == nullptr ? nullptr : machine.place(trial.recv());
  if (into != nullptr) call.recv = into;
  Code code = Code::ok;
  if (how[0] == 'n') {
    comm::Request* const request = *comm::start(me.comm, call);
    comm::wait(me.comm.runtime(), *request);
    code = request->status().code;
    request->release();
  } else {
    code = comm::run(me.comm, call);
  }
  // At once: the call has ended, and so has the work of its devices.
  if (into != nullptr) std::copy_n(machine.seen(into), trial.recv().size(), trial.recv().begin());
  me.expect(code == Code::ok && trial.check(), trial.what() + " " + how);
}

void all_chosen(const Rank& me, Machine& machine) {
  for (const types::Count count : {1, 3, 1000, 20011})
    for (const Plan& plan : reference::plans(me.size, count)) {
      try_plan(me, machine, plan, "waiting");
      try_plan(me, machine, plan, "not waiting");
    }
}

void all_forced(const Rank& me, Machine& machine) {
  for (const coll::Algorithm& algorithm : coll::catalogue()) {
    comm::force(me.comm, std::string(coll::name_of(algorithm.collective)) + "=" + algorithm.name);
    for (const types::Count count : {5, 2777})
      for (const Plan& plan : reference::plans(me.size, count))
        if (plan.collective == algorithm.collective) try_plan(me, machine, plan, algorithm.name);
  }
  comm::force(me.comm, "");
}

void all_own(const Rank& me, Machine& machine) {
  const auto compose = reference::compose_op();
  for (const types::Count count : {1, 500})
    for (Plan plan : reference::plans(me.size, count)) {
      if (plan.collective != Collective::reduce && plan.collective != Collective::allreduce &&
          plan.collective != Collective::reduce_scatter && plan.collective != Collective::scan)
        continue;
      plan.op = compose.get();
      try_plan(me, machine, plan, "by the user's operation");
    }
}

}  // namespace

TEST_CASE("every collective is right with memory of any kind on each rank", "[comm][device]") {
  for (int round = 1; round <= test::rounds(3); ++round) {
    const auto seed = static_cast<unsigned>(round);
    run_machines(test::one_host(2), seed, all_chosen);
    run_machines(test::one_host(3), seed, all_chosen);
    run_machines({0, 0, 1, 1, 1}, seed, all_chosen);
  }
}

TEST_CASE("every algorithm is right with memory of any kind on each rank", "[comm][device]") {
  run_machines(test::one_host(4), 4, all_forced);
  run_machines({0, 0, 1, 1, 1}, 5, all_forced);
}

TEST_CASE("a user's operation is given host memory", "[comm][device]") {
  run_machines(test::one_host(3), 6, all_own);
  run_machines({0, 1, 1}, 7, all_own);
}

TEST_CASE("the team of a host serves members whose memory differs", "[comm][device]") {
  const Knobs forced = test::knobs_with({{"TUTTI_ALLREDUCE", "shm"},
                                         {"TUTTI_BCAST", "shm"},
                                         {"TUTTI_ALLTOALL", "shm"},
                                         {"TUTTI_REDUCE", "shm"}});
  const auto body = [](const Rank& me, Machine& machine) {
    for (const types::Count count : {1, 9, 3000, 70'000})
      for (const Collective collective :
           {Collective::allreduce, Collective::bcast, Collective::alltoall, Collective::reduce})
        try_plan(me, machine, {collective, count, me.size - 1, false, nullptr}, "by shm");
  };
  for (const int size : {2, 3, 4}) run_machines(test::one_host(size), 8, body, forced);
}

TEST_CASE("two-byte floats of a device are summed in float32", "[comm][device]") {
  run_machines(test::one_host(4), 9, [](const Rank& me, Machine& machine) {
    for (int round = 0; round < 6; ++round) {
      std::vector<std::uint16_t> ones(1000, 0x3c00), sums(1000, 0);  // 1.0
      comm::CollCall call;
      call.collective = Collective::allreduce;
      const auto* const from = machine.place(ones);
      auto* const into = machine.place(sums);
      call.send = from != nullptr ? from : ones.data();
      call.recv = into != nullptr ? into : sums.data();
      call.recv_count = 1000;
      call.recv_type = types::predefined_type(kFloat16);
      call.op = types::predefined_op(reference::kSum);
      me.expect(call.recv_type != nullptr, "the type");
      me.expect(comm::run(me.comm, call) == Code::ok, "allreduce");
      if (into != nullptr) std::copy_n(machine.seen(into), sums.size(), sums.begin());
      me.expect(sums == std::vector<std::uint16_t>(1000, 0x4400), "4.0 everywhere");
    }
  });
}

TEST_CASE("messages of communicators go between memory of any kind", "[comm][device]") {
  for (const bool hosts_differ : {false, true}) {
    const std::vector<int> hosts = hosts_differ ? std::vector<int>{0, 1, 1} : test::one_host(3);
    run_machines(hosts, 10, [](const Rank& me, Machine& machine) {
      const types::Datatype& type = *types::predefined_type(reference::kInt);
      for (int round = 0; round < 60; ++round) {
        // To the right neighbour; in every third round to oneself.
        const int step = round % 3 == 0 ? 0 : 1;
        const int right = (me.rank + step) % me.size, left = (me.rank + me.size - step) % me.size;
        const std::size_t count = round % 2 == 0 ? 10 : 30'000;
        std::vector<std::int32_t> given(count, 100 * round + me.rank), taken(count, -1);
        const auto* const from = machine.place(given);
        auto* const into = machine.place(taken);
        const auto elements = static_cast<types::Count>(count);
        comm::Request* const coming =
            comm::irecv(me.comm, into != nullptr ? into : taken.data(), elements, type, left, 1);
        const Code code =
            comm::send(me.comm, round % 5 == 0 ? p2p::Mode::synchronous : p2p::Mode::standard,
                       from != nullptr ? from : given.data(), elements, type, right, 1);
        comm::wait(me.comm.runtime(), *coming);
        me.expect(code == Code::ok && coming->status().code == Code::ok, "sent and received");
        coming->release();
        if (into != nullptr) std::copy_n(machine.seen(into), count, taken.begin());
        me.expect(taken == std::vector<std::int32_t>(count, 100 * round + left), "right data");
      }
    });
  }
}
