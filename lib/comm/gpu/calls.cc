// Who decides: where a member's memory is, only that member knows. So members first tell each
// other, in a call of a few bytes, whether they can, and go by what the worst says. Whether they
// ask rests on what they know alike: collective, bytes, type, operation, knobs, and what earlier
// calls gave, which travels with these words.
//
//   wanted()    alike: is it worth asking
//   obstacle()  this member's own: what keeps it from it
//   agree()     of all members the greatest obstacle, what they move, and what the last call took
//   plan()      at the first call that all can make: NCCL for all, by levels, or never one here
#include "comm/gpu/calls.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "comm/agree.h"
#include "comm/fingerprint.h"
#include "comm/gpu/agree.h"
#include "comm/scheduled.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using coll::Collective;
using delegate::GpuCall;
using Way = GpuCalls::Way;

constexpr std::uint32_t kMostPassed = 64;  // calls between two of members that ask in vain

std::size_t index_of(Collective collective) {
  return static_cast<std::size_t>(collective);
}

std::uint64_t key_of(Collective collective, Count bytes) {
  return std::uint64_t{1} << 32 | static_cast<std::uint64_t>(collective) << 8 |
         static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(bytes)));
}

select::Contest::Mask ways_of(const GpuCalls& calls, Collective collective) {
  select::Contest::Mask can = calls.can;
  can[Way::levels] = can_go_by_levels(calls, collective);
  return can;
}

// Alike on all members: what the model says of their own choice, and of the library.
Result<select::Contest*> contest_of(Communicator& comm, const CollCall& call, Count bytes) {
  GpuCalls& calls = *comm.state().gpu_calls;
  const std::uint64_t key = key_of(call.collective, bytes);
  if (const auto found = calls.contests.find(key); found != calls.contests.end())
    return &found->second;
  const CallShape shape = shape_of(comm, call);
  const bool is_blocks = coll::delegated(call.collective).kind == coll::Delegated::blocks;
  const Among among = comm.state().team == nullptr                       ? Among::schedules
                      : is_long(is_blocks ? bytes / comm.size() : bytes) ? Among::schedules_on_gpus
                                                                         : Among::all;
  TUTTI_TRY(choice, choice_for(comm, shape, among));
  select::Question question;
  question.collective = call.collective;
  question.bytes = std::max<Count>(1, is_blocks ? bytes / comm.size() : bytes);
  question.commutative = true;
  const auto& costs = comm.runtime().wireup.segment().header().costs;
  const auto times = select::predict_on_gpus(question, *choice, comm.state().facts, costs,
                                             calls.shape, comm.runtime().knobs);
  return &calls.contests.emplace(key, select::Contest(times)).first->second;
}

// Whatever the call is: nobody asks.
bool is_passed(Communicator& comm, Collective collective) {
  const GpuCalls::Wish wish = wish_of(comm, collective);
  if (wish != GpuCalls::Wish::when_it_pays) return wish == GpuCalls::Wish::never;
  return comm.state().gpu_calls->refusals[index_of(collective)].passes();
}

// Of a member that has nothing to move: it takes part all the same.
int device_of_idle(Communicator& comm) {
  const GpuCalls& calls = *comm.state().gpu_calls;
  if (calls.is_planned) return calls.device;
  for (types::Vendor* const vendor : comm.runtime().devices.vendors())
    if (const int device = vendor->chosen_device(); device >= 0) return device;
  return -1;
}

bool wanted(Communicator& comm, const CollCall& call, const GpuCall& said) {
  GpuCalls& calls = *comm.state().gpu_calls;
  const auto bytes = known_bytes(comm, said);
  if (bytes == 0) return false;
  if (!bytes || wish_of(comm, call.collective) == GpuCalls::Wish::always) return true;
  const auto contest = contest_of(comm, call, *bytes);
  return contest && (*contest)->asks(ways_of(calls, call.collective));
}

Obstacle obstacle(Communicator& comm, const CollCall& call, const Whereabouts& where,
                  const GpuTurn& turn) {
  GpuCalls& calls = *comm.state().gpu_calls;
  if (call.failure != Code::ok) return Obstacle::nothing_to_give;
  if (where.on_host) return Obstacle::host_memory;
  if (where.device < 0) return Obstacle::no_gpu;
  if (!where.in_primary) return Obstacle::own_context;
  if (!where.in_order) return Obstacle::layout;
  if (library_of(comm.runtime()) == nullptr) return Obstacle::no_library;
  if (calls.team != nullptr && calls.team->check_broken()) return Obstacle::no_team;
  if (calls.levels.buffer != nullptr && calls.levels.buffer->is_lost()) return Obstacle::no_team;
  if (calls.is_planned && calls.device != where.device) return Obstacle::another_gpu;
  return turn.obstacle();
}

// Who serves calls of that size from now on, once that was tried.
void explain_verdict(Communicator& comm, Collective collective, const select::Contest& contest) {
  constexpr std::uint64_t kVerdict = std::uint64_t{1} << 48;
  GpuCalls& calls = *comm.state().gpu_calls;
  if (!log::explains() || comm.rank() != 0) return;
  const select::Contest::Mask can = ways_of(calls, collective);
  const auto verdict = contest.verdict(can);
  if (!verdict || !calls.said.insert(key_of(collective, calls.last.bytes) | kVerdict).second)
    return;
  explain_gpus(comm, std::string(coll::name_of(collective)) + ", " +
                         text::format_bytes(static_cast<std::uint64_t>(calls.last.bytes)) +
                         ": from now on " + select::Contest::name_of(*verdict) + "; " +
                         contest.why(can));
}

// What the call before took, with the slowest of the members; nothing if it failed with one.
void learn(Communicator& comm, std::int64_t ns) {
  GpuCalls& calls = *comm.state().gpu_calls;
  const auto found = calls.contests.find(key_of(calls.last.collective, calls.last.bytes));
  if (found != calls.contests.end() && ns > 0 && ns != GpuCalls::kSaysNothing) {
    found->second.took(calls.last.way, static_cast<double>(ns) / 1e3);
    explain_verdict(comm, calls.last.collective, found->second);
  }
  calls.last = {};
}

// A message of a v form: by whom, for whom, how long.
std::uint64_t mark_of(std::size_t from, std::size_t to, Count bytes) {
  std::uint64_t mark = (from << 32 | to) ^ static_cast<std::uint64_t>(bytes) * 0x9e3779b97f4a7c15U;
  mark ^= mark >> 31;
  mark *= 0xbf58476d1ce4e5b9U;
  return mark ^ mark >> 27;
}

// NCCL would wait for ever where two members say different sizes of what goes between them: that is
// looked at whatever TUTTI_MISMATCH says.
Code compare_sizes(Communicator& comm, const GpuCall& said) {
  if (!said.has_pieces) return Code::ok;
  const auto me = static_cast<std::size_t>(comm.rank());
  std::uint64_t marks = 0;
  for (std::size_t peer = 0; peer < said.gives.size(); ++peer) {
    if (const Count bytes = said.gives[peer].bytes; bytes > 0) marks ^= mark_of(me, peer, bytes);
    if (const Count bytes = said.takes[peer].bytes; bytes > 0) marks ^= mark_of(peer, me, bytes);
  }
  auto word = static_cast<std::int64_t>(marks);
  if (const Code code = allreduce_xor(comm, word); code != Code::ok) return code;
  if (word == 0) return Code::ok;
  comm.runtime().reason = {"two members say different sizes of a block that goes between them",
                           true};
  return Code::truncate;
}

void explain(Communicator& comm, Collective collective, const Agreed& agreed, Way way) {
  GpuCalls& calls = *comm.state().gpu_calls;
  const auto bytes = static_cast<std::uint64_t>(agreed.bytes);
  const std::uint64_t key = key_of(collective, agreed.bytes) |
                            static_cast<std::uint64_t>(agreed.obstacle) << 16 |
                            static_cast<std::uint64_t>(way) << 24;
  if (!log::explains() || comm.rank() != 0 || !calls.said.insert(key).second) return;
  std::string line =
      std::string(coll::name_of(collective)) + ", " + text::format_bytes(bytes) + ": ";
  if (agreed.obstacle != Obstacle::none) {
    return explain_gpus(comm, line + "not NCCL: rank " + std::to_string(agreed.who) + " " +
                                  text_of(agreed.obstacle));
  }
  line += way == Way::ours ? "ours" : comm.runtime().gpu_library->name();
  if (way == Way::levels)
    line += calls.shape.are_hosts ? " inside hosts, ours between them"
                                  : " between GPUs, ours among those that share one";
  const auto found = calls.contests.find(key_of(collective, agreed.bytes));
  if (wish_of(comm, collective) == GpuCalls::Wish::always)
    line += "; forced, and every buffer lies on a GPU";
  else if (found != calls.contests.end())
    line += "; every buffer lies on a GPU; " + found->second.why(ways_of(calls, collective));
  explain_gpus(comm, line);
}

Way way_of(Communicator& comm, const CollCall& call, Count bytes) {
  GpuCalls& calls = *comm.state().gpu_calls;
  const select::Contest::Mask can = ways_of(calls, call.collective);
  if (wish_of(comm, call.collective) == GpuCalls::Wish::always)
    return can[Way::library] ? Way::library : can[Way::levels] ? Way::levels : Way::ours;
  const auto contest = contest_of(comm, call, bytes);
  return contest ? (*contest)->next(can) : Way::ours;
}

Code run_by(Way way, Communicator& comm, const GpuCall& said) {
  if (way == Way::levels) return run_by_levels(comm, said);
  if (const Code code = compare_sizes(comm, said); code != Code::ok) return code;
  return comm.state().gpu_calls->team->run(said);
}

// All members can: which way, and what it takes. Nothing: by ours.
std::optional<Code> run_agreed(Communicator& comm, const CollCall& call, const GpuCall& said,
                               const Agreed& agreed) {
  GpuCalls& calls = *comm.state().gpu_calls;
  const Way way = take_to_join(comm, [&] { return way_of(comm, call, agreed.bytes); });
  explain(comm, call.collective, agreed, way);
  const std::int64_t begin_ns = now_ns();
  calls.last = {call.collective, agreed.bytes, way, -begin_ns};
  if (way == Way::ours) return std::nullopt;
  remember(comm, Communicator::State::Kind::blocking, {said.said.fingerprint, 0, said.said.root},
           said.said.block);
  const Code code = run_by(way, comm, said);
  calls.last.ns = code == Code::ok ? now_ns() - begin_ns : GpuCalls::kSaysNothing;
  return code;
}

void never_again(Communicator& comm) {
  Communicator::State& state = comm.state();
  state.asks_gpus = false;
  if (state.gpu_calls->team != nullptr) state.gpu_calls->team->abandon();
  state.gpu_calls->team.reset();
}

bool lies_on_gpu(const engine::SpaceMemory& space) {
  return space.whole.device != nullptr ||
         std::ranges::any_of(space.blocks, [](const auto& each) { return each.device != nullptr; });
}

// What says nothing of the next call.
bool is_passing(Obstacle obstacle) {
  return obstacle == Obstacle::another_call || obstacle == Obstacle::calls_in_streams ||
         obstacle == Obstacle::nothing_to_give;
}

}  // namespace

// Members that ask in vain do so less and less often.
void GpuCalls::Refusals::note(bool is_refused) {
  in_a_row = is_refused ? std::min(in_a_row + 1, 16U) : 0;
  to_pass = is_refused ? std::min((1U << in_a_row) - 2, kMostPassed) : 0;
}

GpuCalls::Wish wish_of(Communicator& comm, Collective collective) {
  GpuCalls::Wish& wish = comm.state().gpu_calls->wishes[index_of(collective)];
  if (wish != GpuCalls::Wish::unknown) return wish;
  const std::string forced = select::forced_algorithm(
      collective, forced_name(comm.forced(), collective), comm.runtime().knobs);
  return wish = forced.empty()                    ? GpuCalls::Wish::when_it_pays
                : forced == coll::kGpuLibraryName ? GpuCalls::Wish::always
                                                  : GpuCalls::Wish::never;
}

std::optional<Code> run_on_gpus(Communicator& comm, const CollCall& call) {
  if (call.neighbours || !coll::has_gpu_library_form(call.collective)) return std::nullopt;
  Communicator::State& state = comm.state();
  // What counts calls comes behind what needs memory: it is done once.
  const bool passes = take_to_join(comm, [&] {
    if (state.gpu_calls == nullptr) state.gpu_calls = std::make_unique<GpuCalls>();
    return is_passed(comm, call.collective);
  });
  if (passes) return std::nullopt;
  GpuCall said;
  const bool asks = take_to_join(comm, [&] {
    said = {};
    return say_to_gpus(comm, call, said) && wanted(comm, call, said);
  });
  if (!asks) return std::nullopt;
  GpuCalls& calls = *state.gpu_calls;
  Whereabouts where = take_to_join(comm, [&] { return where_is(comm, said); });
  if (where.device < 0 && !where.on_host) where.device = device_of_idle(comm);
  GpuTurn turn(comm.runtime());
  const Obstacle mine = take_to_join(comm, [&] { return obstacle(comm, call, where, turn); });
  auto agreed = agree(comm, said, mine, turn);
  if (!agreed) return explain_failure(comm, agreed.error());
  learn(comm, agreed->last_ns);
  if (!agreed->is_alike) return std::nullopt;  // ours say who differs
  if (agreed->obstacle == Obstacle::none && agreed->bytes > 0 && !calls.is_planned) {
    if (const auto made = plan(comm, where.device); !made)
      return explain_failure(comm, made.error());
    calls.contests.clear();  // they knew of no levels
    if (!calls.can[Way::library] && !calls.can[Way::levels]) agreed->obstacle = Obstacle::no_team;
  }
  if (!is_passing(agreed->obstacle))
    calls.refusals[index_of(call.collective)].note(agreed->obstacle != Obstacle::none);
  if (agreed->obstacle == Obstacle::none && agreed->bytes > 0)
    return run_agreed(comm, call, said, *agreed);
  explain(comm, call.collective, *agreed, Way::ours);
  if (agreed->obstacle >= Obstacle::no_library) never_again(comm);
  return std::nullopt;
}

void tell_not_waited_for(Communicator& comm, const CollCall& call, const engine::Run& run) {
  Communicator::State& state = comm.state();
  Runtime& runtime = comm.runtime();
  // What a stream has reached is not meant: its maker has chosen.
  if (comm.rank() != 0 || call.neighbours || comm.is_inter() || runtime.devices.is_queued() ||
      !coll::has_gpu_library_form(call.collective) ||
      !(lies_on_gpu(run.binding().in) || lies_on_gpu(run.binding().out)))
    return;
  if (state.gpu_calls == nullptr) state.gpu_calls = std::make_unique<GpuCalls>();
  const GpuCalls::Wish wish = wish_of(comm, call.collective);
  const bool is_forced = wish == GpuCalls::Wish::always;
  if (wish == GpuCalls::Wish::never || !(is_forced || log::explains()) ||
      std::exchange(runtime.told_not_waited_for[index_of(call.collective)], true))
    return;
  const std::string line = "communicator " + std::to_string(comm.context()) + ": " +
                           std::string(coll::name_of(call.collective)) +
                           " of GPU memory, nonblocking or persistent: ours, never NCCL" +
                           (is_forced ? ", although that is forced" : "") +
                           "; it serves the blocking call, and calls in streams (MPIX_*_enqueue)";
  is_forced ? log::warn(line) : log::explain(line);
}

void ended_by_ours(Communicator& comm, Code code) {
  const auto& calls = comm.state().gpu_calls;
  if (calls == nullptr || calls->last.ns >= 0) return;
  calls->last.ns = code == Code::ok ? calls->last.ns + now_ns() : GpuCalls::kSaysNothing;
}

}  // namespace tutti::comm
