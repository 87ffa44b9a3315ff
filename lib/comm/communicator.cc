// Communicators: their birth and end, and what their members settle between them.
#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "comm/fingerprint.h"
#include "comm/locality.h"
#include "comm/meeting.h"
#include "comm/state.h"
#include "types/types.h"

namespace tutti::comm {
namespace {

constexpr Handle kWorldHandle = 0x101;  // MPI_COMM_WORLD, MPI_COMM_SELF of the standard ABI
constexpr Handle kSelfHandle = 0x102;

select::LinkClass link_class(Runtime& runtime, int peer) {
  const transport::Traits traits = runtime.endpoint.traits(peer);
  return runtime.wireup.segment().header().costs.of_link(traits.kind, traits.wire_gbits);
}

// Numbers hosts in the order of their first member.
std::vector<int> hosts_of(const Communicator& comm) {
  std::map<int, int> index;
  std::vector<int> hosts;
  for (const int member : comm.group().members()) {
    const int host = comm.runtime().wireup.host_of(member);
    hosts.push_back(index.try_emplace(host, static_cast<int>(index.size())).first->second);
  }
  return hosts;
}

select::TeamFacts facts_of(const Communicator& comm, const std::vector<int>& host_of) {
  Runtime& runtime = comm.runtime();
  select::TeamFacts facts;
  facts.size = comm.size();
  std::map<int, int> ranks;
  for (const int host : host_of) ++ranks[host];
  facts.hosts = static_cast<int>(ranks.size());
  for (const auto& [host, count] : ranks) facts.largest_host = std::max(facts.largest_host, count);
  facts.consecutive = std::is_sorted(host_of.begin(), host_of.end());
  const wireup::SegmentHeader& header = runtime.wireup.segment().header();
  facts.fold_us_per_byte = header.costs.fold_us_per_byte();
  facts.oversubscribed = header.is_oversubscribed();
  if (facts.oversubscribed)
    facts.ranks_per_core = static_cast<double>(header.machine_ranks) / header.cores;
  const auto mine = static_cast<std::size_t>(comm.rank());
  bool knows_inside = false, knows_between = false;
  for (std::size_t r = 0; r < host_of.size() && !(knows_inside && knows_between); ++r) {
    if (r == mine) continue;
    bool& knows = host_of[r] == host_of[mine] ? knows_inside : knows_between;
    if (knows) continue;
    (host_of[r] == host_of[mine] ? facts.inside : facts.between) =
        link_class(runtime, comm.peer(static_cast<int>(r)));
    knows = true;
  }
  return facts;
}

std::vector<int> locals_of(const Communicator& comm) {
  std::vector<int> locals;
  for (const int member : comm.group().members())
    locals.push_back(
        comm.runtime().wireup.segment().place(static_cast<unsigned>(member)).local_rank);
  return locals;
}

bool holds_whole_host(const Communicator& comm) {
  return comm.context() == kWorldContext && comm.size() == comm.runtime().wireup.local_size();
}

}  // namespace

RuntimePtr open_runtime(const Ground& ground) {
  ground.endpoint->set_fingerprint_text(&watch::describe_fingerprint);
  RuntimePtr runtime(new Runtime(ground));
  for (const std::uint32_t context : {kWorldContext, kSelfContext, kMeetingContext})
    runtime->contexts.take(context);
  return runtime;
}

void CloseRuntime::operator()(Runtime* runtime) const {
  delete runtime;
}

Reason take_reason(Runtime& runtime) {
  return std::exchange(runtime.reason, {});
}

delegate::Waiting Runtime::waiting() {
  delegate::Waiting waiting;
  waiting.looks = endpoint.waiter().looks_at_word();
  waiting.progress = [](void* self) { return progress(*static_cast<Runtime*>(self)); };
  waiting.idle = [](void* self) { idle(*static_cast<Runtime*>(self)); };
  waiting.active = [](void* self) { active(*static_cast<Runtime*>(self)); };
  waiting.unsignalled = [](void* self, bool begins) {
    transport::Waiter& waiter = static_cast<Runtime*>(self)->endpoint.waiter();
    begins ? waiter.begin_unsignalled() : waiter.end_unsignalled();
  };
  waiting.self = this;
  waiting.describe = &watch::describe_fingerprint;
  waiting.explain = [](void* self, std::string why, delegate::FailureCause cause) {
    using delegate::FailureCause;
    const bool is_theirs =
        cause == FailureCause::failed_there || cause == FailureCause::mismatch_there;
    static_cast<Runtime*>(self)->reason = {
        std::move(why), cause == FailureCause::mismatch || cause == FailureCause::mismatch_there,
        is_theirs};
  };
  if (mismatch != Mismatch::an_error)
    waiting.overlook = [](void* self, std::string why) {
      auto& runtime = *static_cast<Runtime*>(self);
      if (runtime.mismatch == Mismatch::told && !std::exchange(runtime.warned_of_mismatch, true))
        log::warn(why + " (TUTTI_MISMATCH=warn: the job goes on)");
    };
  return waiting;
}

Communicator::Communicator(Runtime& runtime, GroupRef group, int rank, Number number, Handle handle)
    : GatedObject(ObjectKind::comm, &Object::destroy_as<Communicator>, handle),
      runtime_(&runtime),
      group_(std::move(group)),
      peers_(group_.get()),
      rank_(rank),
      number_(number),
      state_(std::make_unique<State>()) {}

Communicator::~Communicator() {
  // Those of predefined ones are the world's for good.
  if (is_predefined() || context() == kNoContext || state_->is_cancelled) return;
  runtime_->contexts.give(context());
}

void cancel(Communicator& comm, Code code) {
  cancel_collectives(comm, code);
  comm.runtime().endpoint.cancel(comm.context(), code);
}

void cancel_collectives(Communicator& comm, Code code) {
  comm.state().is_cancelled = true;
  if (comm.state().team != nullptr) comm.state().team->cancel(code);
  if (GpuCalls* const calls = comm.state().gpu_calls.get(); calls != nullptr) {
    if (calls->team != nullptr) calls->team->cancel(code);
    for (const CommRef& level : {calls->levels.inside, calls->levels.among})
      if (level) cancel(*level, code);
  }
  comm.runtime().endpoint.cancel(comm.coll_context(), code);
}

CommRef CommMaker::make(Runtime& runtime, GroupRef group, Number number, Handle handle) {
  const int rank = group->rank_of(runtime.rank());
  return CommRef::adopt(new Communicator(runtime, std::move(group), rank, number, handle));
}

CommRef CommMaker::make_inter(Runtime& runtime, const IntercommGroups& sides, Number number) {
  CommRef made = make(runtime, sides.own, number);
  made->remote_ = sides.remote;
  made->peers_ = made->remote_.get();
  made->first_ = sides.own_first;
  std::vector<int>& joint = made->state().joint;
  for (const bool first : {true, false}) {
    const Group& next = first == sides.own_first ? *sides.own : *sides.remote;
    joint.insert(joint.end(), next.members().begin(), next.members().end());
  }
  return made;
}

void CommMaker::set_number(Communicator& comm, Number number) {
  comm.number_ = number;
  comm.state().records = Communicator::State::Records::unknown;
}

void CommMaker::force(Communicator& comm, std::string algorithms) {
  comm.state().forced = std::move(algorithms);
  comm.state().quick = {};
  comm.state().latest = {};
  if (comm.state().gpu_calls != nullptr) comm.state().gpu_calls->wishes = {};
  comm.state().choices.clear();
}

const std::string& Communicator::forced() const {
  return state_->forced;
}

void force(Communicator& comm, std::string algorithms) {
  CommMaker::force(comm, std::move(algorithms));
}

Settled propose_settled(Communicator& comm) {
  Communicator::State& state = comm.state();
  state.host_of = hosts_of(comm);
  Settled settled;
  settled.facts = facts_of(comm, state.host_of);
  state.facts = settled.facts;
  wireup::Wireup& wireup = comm.runtime().wireup;
  if (comm.size() == 1) return settled;
  // Those of another job have knobs of their own.
  settled.may_have_gpus =
      comm.runtime().may_have_gpus &&
      std::ranges::all_of(comm.group().members(), [&](int rank) { return wireup.is_first(rank); });
  std::optional<std::uint32_t> area;
  if (holds_whole_host(comm))
    area = delegate::host_area(wireup);
  else if (settled.facts.hosts == 1 && comm.rank() == 0)
    area = delegate::take_area(wireup, locals_of(comm));
  if (area) settled.area = *area;
  return settled;
}

namespace {

// In a crowd nothing is judged: time says little there, and who gives would wait for its readers
// (record 0056).
delegate::BlockReads single_copy_of(const Runtime& runtime) {
  const std::string& word = runtime.knobs.text("TUTTI_SINGLE_COPY");
  if (word == "on") return delegate::BlockReads::on;
  const bool is_crowd = runtime.wireup.segment().header().is_oversubscribed();
  return word == "off" || is_crowd ? delegate::BlockReads::off : delegate::BlockReads::judged;
}

// Where ranks share cores nobody has a place: forms in which few wait for others cost less there.
model::BoundAt place_of(Runtime& runtime) {
  if (const auto together = runtime.knobs.integer("TUTTI_RANKS_PER_CACHE"); together > 0)
    return {static_cast<int>(runtime.wireup.local_rank() / together), 0, 0};
  if (runtime.wireup.segment().header().is_oversubscribed()) return {};
  if (!runtime.place) {  // read once: the host's description is long where there are many cores
    const Locality at = my_locality(runtime);
    runtime.place = {at.on(Level::l3), at.on(Level::numa), at.on(Level::package)};
  }
  return *runtime.place;
}

}  // namespace

std::span<std::byte> told_bytes(Settled& settled) {
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&settled);
#endif
  return std::as_writable_bytes(std::span(&settled, 1));
}

void adopt_settled(Communicator& comm, Settled& settled) {
  settled.facts.shm_delegate = settled.area >= 0;
  comm.state().facts = settled.facts;
  comm.state().may_have_gpus = settled.may_have_gpus;
  comm.state().asks_gpus = settled.may_have_gpus && delegate::has_gpu_library();
  if (settled.area < 0) return;
  Runtime& runtime = comm.runtime();
  comm.state().team = delegate::make_shm_team(
      runtime.wireup, locals_of(comm), comm.rank(), static_cast<std::uint32_t>(settled.area),
      runtime.waiting(), {single_copy_of(runtime), place_of(runtime)});
}

Result<void> settle(Communicator& comm) {
  Settled settled = propose_settled(comm);
  // The ranks of one host see the same facts and know their area: nothing to tell.
  if (!holds_whole_host(comm)) {
    Runtime& runtime = comm.runtime();
    const Meeting meeting(runtime, comm.group().members(),
                          {comm.coll_context(), comm.state().next_tag()});
    const Code code = meeting.bcast(told_bytes(settled));
    if (code != Code::ok)
      return fail(code,
                  "members could not settle a new communicator: " + runtime.endpoint.loss_text());
  }
  adopt_settled(comm, settled);
  return {};
}

Result<CommRef> make_world_comm(Runtime& runtime) {
  std::vector<int> members;
  for (int rank = 0; rank < runtime.wireup.size(); ++rank) members.push_back(rank);
  auto comm = CommMaker::make(runtime, GroupRef::adopt(new Group(std::move(members))),
                              {kWorldContext, 0}, kWorldHandle);
  comm->name = "MPI_COMM_WORLD";
  TUTTI_DO(settle(*comm));
  return comm;
}

Result<CommRef> make_self_comm(Runtime& runtime) {
  auto comm = CommMaker::make(runtime, GroupRef::adopt(new Group({runtime.rank()})),
                              {kSelfContext, 0}, kSelfHandle);
  comm->name = "MPI_COMM_SELF";
  TUTTI_DO(settle(*comm));
  return comm;
}

}  // namespace tutti::comm
