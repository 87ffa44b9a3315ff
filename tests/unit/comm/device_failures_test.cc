// One rank's device fails in a call: who would have had its data ends with an error, nobody waits
// and nobody is given anything else for them; the communicator goes on. By every way a call takes.
#include "comm/state.h"
#include "fake_device.h"
#include "reference.h"

namespace {

using namespace tutti;
using reference::Collective;
using reference::Plan;
using reference::Trial;
using test::FakeDevice;
using test::Rank;

constexpr Handle kFloat16 = 0x24a;
enum class How : std::uint8_t { waiting, not_waiting };

// All that it is asked for goes wrong, the first piece of work or a later one on.
std::unique_ptr<FakeDevice> failing(const Rank& me, int fails_from) {
  test::FakeDeviceOptions options;
  options.fails_from = fails_from;
  auto device = std::make_unique<FakeDevice>(me.rank, options);
  me.world.endpoint().devices().add(*device);
  return device;
}

Code end_of(const Rank& me, const comm::CollCall& call, How how) {
  if (how == How::waiting) return comm::run(me.comm, call);
  comm::Request* const request = *comm::start(me.comm, call);
  comm::wait(me.comm.runtime(), *request);
  const Code code = request->status().code;
  request->release();
  return code;
}

bool depends(const Plan& plan, int bad, int rank) {
  switch (plan.collective) {
    case Collective::barrier:
      return false;
    case Collective::bcast:
    case Collective::scatter:
    case Collective::scatterv:
      return bad == plan.root;
    case Collective::reduce:
    case Collective::gather:
    case Collective::gatherv:
      return rank == plan.root;
    case Collective::scan:
    case Collective::exscan:
      return rank > bad;
    default:
      return true;
  }
}

std::int32_t* put(FakeDevice& device, const std::vector<std::int32_t>& content) {
  auto* const at = reinterpret_cast<std::int32_t*>(device.take(content.size() * 4));
  std::copy(content.begin(), content.end(), reinterpret_cast<std::int32_t*>(device.seen(at)));
  return at;
}

void try_plan(const Rank& me, FakeDevice* device, const Plan& plan, int bad, How how) {
  Trial trial(me.comm, plan);
  comm::CollCall call = trial.call();
  std::int32_t* into = nullptr;
  if (device != nullptr && !trial.send().empty() && call.send != nullptr)
    call.send = put(*device, trial.send());
  if (device != nullptr && !trial.recv().empty()) call.recv = into = put(*device, trial.recv());
  const Code code = end_of(me, call, how);
  if (into != nullptr)
    std::copy_n(reinterpret_cast<std::int32_t*>(device->seen(into)), trial.recv().size(),
                trial.recv().begin());
  const std::string what = trial.what() + (how == How::waiting ? "" : ", not waiting");
  me.expect(code != Code::ok || trial.check(), "wrong data and no error: " + what);
  const bool must_fail =
      me.rank == bad ? plan.collective != Collective::barrier : depends(plan, bad, me.rank);
  me.expect(code != Code::ok || !must_fail, "no error: " + what);
}

void is_whole(const Rank& me) {
  Trial trial(me.comm, {Collective::allreduce, 9, 0, false, nullptr});
  me.expect(comm::run(me.comm, trial.call()) == Code::ok && trial.check(), "the next call");
}

// A new world for each rank that fails: a device that once failed does so for good.
void run_failing(const std::vector<int>& hosts, const std::vector<types::Count>& counts) {
  const int size = static_cast<int>(hosts.size());
  for (const int bad : {0, size - 1}) {
    std::unique_ptr<FakeDevice> device;
    test::run_ranks(hosts, [&](const Rank& me) {
      if (me.rank == bad) device = failing(me, 0);
      for (const types::Count count : counts)
        for (const Plan& plan : reference::plans(me.size, count))
          for (const How how : {How::waiting, How::not_waiting}) {
            try_plan(me, me.rank == bad ? device.get() : nullptr, plan, bad, how);
            is_whole(me);
          }
    });
  }
}

// Half-precision sums are folded in a wider type, in parts.
void sum_halves(const Rank& me, FakeDevice* device, Collective collective, std::size_t count,
                How how) {
  std::vector<std::uint16_t> ones(count, 0x3c00), sums(count, 0);  // 1.0
  comm::CollCall call;
  call.collective = collective;
  call.send = ones.data();
  call.recv = sums.data();
  if (device != nullptr) call.send = device->take(count * 2);
  call.send_count = call.recv_count = static_cast<types::Count>(count);
  call.send_type = call.recv_type = types::predefined_type(kFloat16);
  call.op = types::predefined_op(reference::kSum);
  const Code code = end_of(me, call, how);
  const bool must_fail =
      device != nullptr || collective == Collective::allreduce || me.rank == call.root;
  me.expect(code != Code::ok || !must_fail, "no error: a sum of halves");
}

}  // namespace

TEST_CASE("a device that fails in a collective is an error for all who need its data",
          "[comm][device]") {
  run_failing(test::one_host(2), {1, 1000, 20'011});
  run_failing(test::one_host(3), {3, 20'011});
  run_failing({0, 0, 1, 1, 1}, {3, 2777});
}

TEST_CASE("so it is in every algorithm", "[comm][device]") {
  for (const std::vector<int>& hosts : {test::one_host(4), std::vector<int>{0, 0, 1, 1, 1}})
    for (const int bad : {0, 1}) {
      std::unique_ptr<FakeDevice> device;
      test::run_ranks(hosts, [&](const Rank& me) {
        if (me.rank == bad) device = failing(me, 0);
        for (const coll::Algorithm& algorithm : coll::catalogue()) {
          comm::force(me.comm,
                      std::string(coll::name_of(algorithm.collective)) + "=" + algorithm.name);
          for (const types::Count count : {5, 2777})
            for (const Plan& plan : reference::plans(me.size, count))
              if (plan.collective == algorithm.collective) {
                try_plan(me, me.rank == bad ? device.get() : nullptr, plan, bad, How::waiting);
                is_whole(me);
              }
        }
        comm::force(me.comm, "");
      });
    }
}

TEST_CASE("what could not be taken into a wider type is nobody's sum", "[comm][device]") {
  for (const std::vector<int>& hosts : {test::one_host(4), std::vector<int>{0, 0, 1}}) {
    std::unique_ptr<FakeDevice> device;
    test::run_ranks(hosts, [&](const Rank& me) {
      const bool is_bad = me.rank == 1;
      if (is_bad) device = failing(me, 0);
      for (const Collective collective : {Collective::reduce, Collective::allreduce})
        for (const std::size_t count : {std::size_t{10}, std::size_t{200'000}})
          for (const How how : {How::waiting, How::not_waiting}) {
            sum_halves(me, is_bad ? device.get() : nullptr, collective, count, how);
            is_whole(me);
          }
    });
  }
}
