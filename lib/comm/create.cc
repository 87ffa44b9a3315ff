// New communicators from old ones: members agree on a number, then settle.
#include <algorithm>
#include <array>

#include "comm/fingerprint.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

constexpr Handle kInt64 = 0x258;  // MPI_INT64_T, MPI_MAX of the standard ABI
constexpr Handle kMax = 0x23;

std::function<void()> pause_of(World& world) {
  return [&world] {
    progress(world);
    idle(world);
  };
}

Result<std::uint32_t> agree_over(Communicator& comm) {
  const auto maximum = [&comm](std::int64_t(&values)[2]) {
    CollCall call;
    call.collective = coll::Collective::allreduce;
    call.recv = values;
    call.recv_count = 2;
    call.recv_type = types::predefined_type(kInt64);
    call.op = types::predefined_op(kMax);
    call.in_place = true;
    return run(comm, call);
  };
  World& world = comm.world();
  return world.contexts.agree({comm.context(), -1}, maximum, pause_of(world));
}

Result<CommRef> finish(World& world, GroupRef group, std::uint32_t context) {
  world.contexts.take(context);
  auto made = CommMaker::make(world, std::move(group), context);
  TUTTI_DO(settle(*made));
  return made;
}

// The maximum over the members of a group that is no communicator yet, in the space of its
// parent's collectives; tags there are counted up from zero, these down from -3.
class GroupMaximum {
 public:
  GroupMaximum(Communicator& parent, const Group& group, int tag)
      : parent_(parent), group_(group), tag_(-3 - (tag & 0x3fffffff)) {}

  Result<void> prepare() {
    coll::Call call;
    call.collective = coll::Collective::allreduce;
    call.rank = rank();
    call.size = group_.size();
    call.count = 2;
    call.in_place = true;
    const coll::Algorithm* algorithm = coll::find(call.collective, "recursive_doubling");
    TUTTI_TRY(schedule, coll::build(*algorithm, call));
    World& world = parent_.world();
    run_ = engine::make_run(world.endpoint, world.scratch,
                            std::make_shared<const engine::Program>(std::move(schedule)));
    return {};
  }

  Code run(std::int64_t (&values)[2]) {
    engine::Binding binding;
    binding.type = types::predefined_type(kInt64);
    binding.op = types::predefined_op(kMax);
    binding.out.whole = {values, 2, binding.type};
    binding.context = parent_.coll_context();
    binding.tag = tag_;
    binding.fingerprint = fingerprint_of(coll::Collective::allreduce, binding.op, 0, 16);
    binding.rank = rank();
    binding.peers = group_.members();
    run_->begin(std::move(binding));
    return engine::wait(parent_.world().endpoint, *run_);
  }

 private:
  int rank() const { return group_.rank_of(parent_.world().rank()); }

  Communicator& parent_;
  const Group& group_;
  int tag_;
  std::unique_ptr<engine::Run> run_;
};

struct Member {
  int color, key, rank;
};

// Everyone's color and key, in rank order.
Result<std::vector<Member>> members_of(Communicator& comm, int color, int key) {
  std::vector<std::array<std::int32_t, 2>> all(static_cast<std::size_t>(comm.size()));
  all[static_cast<std::size_t>(comm.rank())] = {color, key};
  CollCall call;
  call.collective = coll::Collective::allgather;
  call.recv = all.data();
  call.recv_count = 1;
  call.recv_type = types::predefined_type(kInt64);
  call.in_place = true;
  if (const Code code = run(comm, call); code != Code::ok)
    return fail(code, "members could not exchange colors");
  std::vector<Member> members;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto& [its_color, its_key] = all[static_cast<std::size_t>(rank)];
    members.push_back({its_color, its_key, rank});
  }
  return members;
}

}  // namespace

Result<CommRef> dup(Communicator& comm) {
  TUTTI_TRY(context, agree_over(comm));
  TUTTI_TRY(made, finish(comm.world(), comm.group_ref(), context));
  force(*made, comm.forced());
  return made;
}

Result<CommRef> split(Communicator& comm, int color, int key) {
  TUTTI_TRY(members, members_of(comm, color, key));
  TUTTI_TRY(context, agree_over(comm));
  if (color == kUndefined) return CommRef();
  std::erase_if(members, [color](const Member& member) { return member.color != color; });
  std::stable_sort(members.begin(), members.end(),
                   [](const Member& a, const Member& b) { return a.key < b.key; });
  std::vector<int> ranks;
  for (const Member& member : members) ranks.push_back(comm.peer(member.rank));
  TUTTI_TRY(made, finish(comm.world(), GroupRef::adopt(new Group(std::move(ranks))), context));
  return made;
}

Result<CommRef> split_shared(Communicator& comm, int key) {
  return split(comm, comm.world().wireup.host(), key);
}

Result<CommRef> create(Communicator& comm, const Group& group) {
  TUTTI_TRY(context, agree_over(comm));
  if (group.rank_of(comm.world().rank()) == kUndefined) return CommRef();
  TUTTI_TRY(made, finish(comm.world(), GroupRef::adopt(new Group(group.members())), context));
  return made;
}

Result<CommRef> create_group(Communicator& comm, const Group& group, int tag) {
  World& world = comm.world();
  if (group.rank_of(world.rank()) == kUndefined) return CommRef();
  GroupMaximum maximum(comm, group, tag);
  TUTTI_DO(maximum.prepare());
  TUTTI_TRY(context, world.contexts.agree(
                         {comm.context(), tag},
                         [&maximum](std::int64_t(&values)[2]) { return maximum.run(values); },
                         pause_of(world)));
  TUTTI_TRY(made, finish(world, GroupRef::adopt(new Group(group.members())), context));
  return made;
}

Comparison compare(const Communicator& a, const Communicator& b) {
  if (&a == &b) return Comparison::identical;
  const Comparison groups = compare(a.group(), b.group());
  return groups == Comparison::identical ? Comparison::congruent : groups;
}

}  // namespace tutti::comm
