// A member whose device fails in a call: who would have had its data is told, nobody takes anything
// else for them, nobody waits, and the team goes on.
#include "fake_device.h"
#include "members.h"
#include "rounds.h"

using namespace tutti;
using namespace tutti::test;
using delegate::BlockList;
using delegate::BlockReads;

namespace {

constexpr Collective kMoves[] = {
    Collective::bcast,     Collective::gather,     Collective::scatter,
    Collective::allgather, Collective::alltoall,   Collective::gatherv,
    Collective::scatterv,  Collective::allgatherv, Collective::alltoallv};

// A member's call with its memory on a device.
class OnDevice {
 public:
  OnDevice(FakeDevice& device, const TeamCall& call) : device_(device), call_(call) {
    devices_.add(device);
    host_ = call;
    call_.from = moved(call.from);
    call_.into = moved(call.into);
    if (call.uneven == nullptr) return;
    uneven_.emplace(delegate::Uneven{moved(call.uneven->from), moved(call.uneven->into)});
    call_.uneven = &*uneven_;
  }
  const TeamCall& call() const { return call_; }
  // The result, where the test looks for it.
  void bring_back() const {
    if (call_.into.bytes > 0) types::copy(seen(call_.into), host_.into);
    if (call_.collective == Collective::scatterv) return;
    for (int member = 0; uneven_ && member < members(uneven_->into); ++member)
      if (const Buffer block = uneven_->into.of(member); block.bytes > 0)
        types::copy(seen(block), host_.uneven->into.of(member));
  }

 private:
  static constexpr std::size_t kRoom = std::size_t{4} << 20;
  static int members(const BlockList& blocks) { return static_cast<int>(blocks.counts.size()); }
  Buffer seen(Buffer buffer) const {
    buffer.data = device_.seen(buffer.data);
    buffer.device = nullptr;
    return buffer;
  }
  Buffer moved(const Buffer& host) {
    if (host.bytes == 0) return host;
    Buffer there = host;
    there.data = device_.take(kRoom);
    there.device = &device_;
    types::copy(host, seen(there));
    return there;
  }
  BlockList moved(BlockList blocks) {
    const BlockList host = blocks;
    blocks.data = device_.take(kRoom);
    blocks.devices = &devices_;
    for (int member = 0; member < members(host); ++member)
      if (const Buffer block = host.of(member); block.bytes > 0)
        types::copy(block, seen(blocks.of(member)));
    return blocks;
  }

  FakeDevice& device_;
  types::Devices devices_;
  TeamCall host_, call_;
  std::optional<delegate::Uneven> uneven_;
};

struct Case {
  Collective collective;
  Count count;
  int root, bad, fails_from;
};

// Whether `taker` gets data of the member whose device fails.
bool depends(const Case& what, int taker) {
  const coll::Collective all[] = {Collective::allgather, Collective::alltoall,
                                  Collective::allgatherv, Collective::alltoallv};
  if (taker == what.bad) return false;
  if (std::find(std::begin(all), std::end(all), what.collective) != std::end(all)) return true;
  const bool gathers =
      what.collective == Collective::gather || what.collective == Collective::gatherv;
  return gathers ? taker == what.root : what.bad == what.root;
}

// Blocks of v forms may be empty: then there is nothing to depend on.
bool is_told(const Case& what, int rank, Code code) {
  const bool may_be_empty = coll::is_v_form(what.collective);
  return what.fails_from > 0 || may_be_empty || !depends(what, rank) || code != Code::ok;
}

bool run_case(Team& team, int rank, int size, const Case& what) {
  FakeDeviceOptions options;
  options.fails_from = what.fails_from;
  options.seed = static_cast<std::uint64_t>(what.count);
  FakeDevice device(rank, options);
  Mixer mixer(team, rank, size);
  const TeamCall& plain = mixer.prepare(what.collective, what.count, what.root);
  explained.clear();
  Code code = Code::ok;
  if (rank == what.bad) {
    const OnDevice there(device, plain);
    code = team.run(there.call());
    there.bring_back();
  } else {
    code = team.run(plain);
  }
  // Right, or an error: whatever failed when.
  const auto cause =
      rank == what.bad ? delegate::FailureCause::failure : delegate::FailureCause::failed_there;
  const bool is_good =
      code == Code::ok ? mixer.is_right() : !explained.empty() && cause_said == cause;
  const bool goes_on = mixer.run(what.collective, what.count, what.root);
  return is_good && is_told(what, rank, code) && goes_on;
}

}  // namespace

TEST_CASE("what a device that fails gave is nobody's data", "[delegate][device]") {
  for (const BlockReads single_copy : {BlockReads::off, BlockReads::on})
    for (const int size : {2, 3})
      run_team(
          size,
          [size](Team& team, int rank) {
            Mixer mixer(team, rank, size);
            Combinations combinations;
            for (int i = 0; i < 2; ++i)  // all prove that they read
              if (!mixer.run(Collective::allgather, 5'000, 0)) return false;
            for (const Collective collective : kMoves)
              for (const Count count : {3, 4, 5'001, 60'000, 60'001})
                for (const int root : {0, 1})
                  for (const int bad : {0, size - 1})
                    for (const int fails_from : {0, 3})
                      if (combinations.takes_next() &&
                          !run_case(team, rank, size, {collective, count, root, bad, fails_from}))
                        return false;
            return true;
          },
          {.single_copy = single_copy});
}

TEST_CASE("calls that are stepped say whose device has failed", "[delegate][device]") {
  for (const Collective collective : {Collective::bcast, Collective::allgather})
    for (const Count count : {3, 60'000}) {
      Members members(3);
      auto teams = members.team();
      FakeDeviceOptions options;
      options.fails_from = 0;
      FakeDevice device(0, options);
      std::vector<std::unique_ptr<Mixer>> mixers;
      std::vector<TeamCall> calls;
      for (int member = 0; member < 3; ++member) {
        mixers.push_back(std::make_unique<Mixer>(*teams[Members::at(member)], member, 3));
        calls.push_back(mixers.back()->prepare(collective, count, 0));
      }
      const OnDevice there(device, calls[0]);
      calls[0] = there.call();
      std::vector<std::unique_ptr<delegate::TeamRun>> runs;
      for (std::size_t member = 0; member < 3; ++member)
        runs.push_back(teams[member]->begin(calls[member]));
      bool is_over = false;
      for (int steps = 0; steps < kMostSteps && !is_over; ++steps) {
        is_over = true;
        for (const auto& run : runs) is_over = run->step() == delegate::StepResult::over && is_over;
      }
      REQUIRE(is_over);
      for (const auto& run : runs) CHECK(run->code() == Code::other);
      Everyone next(teams, collective, count, 1);
      for (int member = 0; member < 3; ++member) next.begin(member);
      REQUIRE(next.finish({0, 1, 2}));
      CHECK(next.is_right());
    }
}
