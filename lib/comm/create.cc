// New communicators from old ones: members agree on a number, then settle.
#include <algorithm>
#include <array>

#include "comm/agree.h"
#include "comm/meeting.h"
#include "comm/state.h"
#include "types/handles.h"

namespace tutti::comm {
namespace {

// Everyone's color and key, in rank order (both groups' one after another).
struct Member {
  std::int32_t color, key;
  int rank;  // in the meeting
};

using Colors = std::vector<std::array<std::int32_t, 2>>;

Code gather_colors(Communicator& comm, int color, int key, Colors& all) {
  if (comm.is_inter()) {
    const Meeting meeting = meeting_on(comm);
    all.resize(static_cast<std::size_t>(meeting.size()));
    all[static_cast<std::size_t>(meeting.rank())] = {color, key};
    return meeting.allgather(std::as_writable_bytes(std::span(all)));
  }
  all.resize(static_cast<std::size_t>(comm.size()));
  all[static_cast<std::size_t>(comm.rank())] = {color, key};
  CollCall call;
  call.collective = coll::Collective::allgather;
  call.recv = all.data();
  call.recv_count = 1;
  call.recv_type = types::predefined_type(types::abi::kInt64);
  call.in_place = true;
  call.purpose = watch::Purpose::makes_comm;
  return run(comm, call);
}

Result<std::vector<Member>> members_of(Communicator& comm, int color, int key) {
  Colors all;
  if (const Code code = gather_colors(comm, color, key, all); code != Code::ok)
    return fail(code, "members could not exchange colors");
  std::vector<Member> members;
  for (const auto& [its_color, its_key] : all)
    members.push_back({its_color, its_key, static_cast<int>(members.size())});
  return members;
}

// Of members first .. last - 1 those of the color, by key and rank, as job ranks.
GroupRef part_of(std::span<const Member> members, int color, std::span<const int> job_ranks) {
  std::vector<Member> chosen;
  for (const Member& member : members)
    if (member.color == color) chosen.push_back(member);
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const Member& a, const Member& b) { return a.key < b.key; });
  std::vector<int> ranks;
  for (const Member& member : chosen)
    ranks.push_back(job_ranks[static_cast<std::size_t>(member.rank)]);
  return GroupRef::adopt(new Group(std::move(ranks)));
}

// The number that was agreed is not needed here.
CommRef nobody(Runtime& runtime, Number number) {
  runtime.contexts.give(number.context);
  return {};
}

Result<CommRef> split_inter(Communicator& comm, const std::vector<Member>& members, int color,
                            Number number) {
  const std::vector<int>& joint = comm.state().joint;
  const auto first = static_cast<std::size_t>(comm.is_first() ? comm.size() : comm.peers().size());
  const std::span all(members);
  const GroupRef parts[2] = {part_of(all.first(first), color, joint),
                             part_of(all.subspan(first), color, joint)};
  if (parts[0]->size() == 0 || parts[1]->size() == 0) return nobody(comm.runtime(), number);
  const int mine = comm.is_first() ? 0 : 1;
  return CommMaker::make_inter(comm.runtime(), {parts[mine], parts[1 - mine], comm.is_first()},
                               number);
}

// The group that the other side of an intercommunicator gave.
Result<GroupRef> remote_choice(Communicator& comm, const Group& group) {
  const Meeting local(comm.runtime(), comm.group().members(),
                      {comm.coll_context(), comm.state().next_tag()});
  return swap_groups(local, {0, comm.peers().at(0), local.place()}, group, comm.runtime());
}

}  // namespace

std::function<void()> pause_of(Runtime& runtime) {
  return [&runtime] {
    progress(runtime);
    idle(runtime);
  };
}

Meeting meeting_on(Communicator& comm, watch::Purpose purpose) {
  const std::vector<int>& members = comm.is_inter() ? comm.state().joint : comm.group().members();
  return {comm.runtime(), members, {comm.coll_context(), comm.state().next_tag()}, purpose};
}

Result<Number> agree_over(Communicator& comm) {
  if (comm.is_inter() || comm.size() == 1) return agree_at(comm.runtime(), meeting_on(comm));
  const auto maximum = [&comm](ContextIds::Values& values) {
    CollCall call;
    call.collective = coll::Collective::allreduce;
    call.recv = values;
    call.recv_count = std::size(values);
    call.recv_type = types::predefined_type(types::abi::kInt64);
    call.op = types::predefined_op(types::abi::kMax);
    call.in_place = true;
    call.purpose = watch::Purpose::makes_comm;
    return run(comm, call);
  };
  Runtime& runtime = comm.runtime();
  return runtime.contexts.agree({comm.coll_context(), comm.state().next_tag()}, maximum,
                                pause_of(runtime));
}

Result<Number> agree_at(Runtime& runtime, const Meeting& meeting) {
  if (meeting.size() == 1) return runtime.contexts.take_alone();
  return runtime.contexts.agree(
      {meeting.place().context, meeting.place().tag},
      [&meeting](ContextIds::Values& v) { return meeting.allreduce_max(v); }, pause_of(runtime));
}

Result<CommRef> finish(Runtime& runtime, GroupRef group, Number number) {
  auto made = CommMaker::make(runtime, std::move(group), number);
  TUTTI_DO(settle(*made));
  return made;
}

Result<CommRef> dup(Communicator& comm) {
  Runtime& runtime = comm.runtime();
  TUTTI_TRY(number, agree_over(comm));
  if (comm.is_inter())
    return CommMaker::make_inter(runtime, {comm.group_ref(), comm.remote_ref(), comm.is_first()},
                                 number);
  TUTTI_TRY(made, finish(runtime, comm.group_ref(), number));
  made->topology = comm.topology;
  force(*made, comm.forced());
  return made;
}

Result<CommRef> split(Communicator& comm, int color, int key) {
  TUTTI_TRY(members, members_of(comm, color, key));
  TUTTI_TRY(number, agree_over(comm));
  if (color == kUndefined) return nobody(comm.runtime(), number);
  if (comm.is_inter()) return split_inter(comm, members, color, number);
  return finish(comm.runtime(), part_of(members, color, comm.group().members()), number);
}

Result<CommRef> create(Communicator& comm, const Group& group) {
  Runtime& runtime = comm.runtime();
  GroupRef remote;
  if (comm.is_inter()) {
    TUTTI_TRY(theirs, remote_choice(comm, group));
    remote = theirs;
  }
  TUTTI_TRY(number, agree_over(comm));
  const bool empty = group.size() == 0 || (remote && remote->size() == 0);
  if (empty || group.rank_of(runtime.rank()) == kUndefined) return nobody(runtime, number);
  GroupRef own = GroupRef::adopt(new Group(group.members()));
  if (remote) return CommMaker::make_inter(runtime, {own, remote, comm.is_first()}, number);
  return finish(runtime, own, number);
}

Result<CommRef> create_group(Communicator& comm, const Group& group, int tag) {
  Runtime& runtime = comm.runtime();
  if (group.rank_of(runtime.rank()) == kUndefined) return CommRef();
  const Meeting meeting(runtime, group.members(),
                        place_of(comm.coll_context(), tag, group.members()));
  TUTTI_TRY(number, agree_at(runtime, meeting));
  return finish(runtime, GroupRef::adopt(new Group(group.members())), number);
}

Result<CommRef> create_from_group(Runtime& runtime, const Group& group, std::string_view text) {
  const Meeting meeting(runtime, group.members(), place_of(text, group.members()));
  TUTTI_TRY(number, agree_at(runtime, meeting));
  return finish(runtime, GroupRef::adopt(new Group(group.members())), number);
}

Result<CommRef> create_ordered(Communicator& comm, std::span<const int> ranks,
                               std::shared_ptr<const Topology> topology) {
  TUTTI_TRY(group, include(comm.group(), ranks));
  TUTTI_TRY(made, create(comm, *group));
  if (made) made->topology = std::move(topology);
  return made;
}

Comparison compare(const Communicator& a, const Communicator& b) {
  if (&a == &b) return Comparison::identical;
  if (a.is_inter() != b.is_inter()) return Comparison::unequal;
  Comparison groups = compare(a.group(), b.group());
  if (a.is_inter()) groups = std::max(groups, compare(a.remote_group(), b.remote_group()));
  return groups == Comparison::identical ? Comparison::congruent : groups;
}

}  // namespace tutti::comm
