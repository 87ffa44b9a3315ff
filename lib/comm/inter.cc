// Intercommunicators (MPI 5.0, 7.6): two groups whose leaders know of each other.
//
// All members of a group name the same leader. The leaders swap lists and proposals; within its
// group each hands on what it heard. Whose leader has the lower rank in the job comes first, for
// all alike. A leader whose side fails gives up its word to the other, which waits for it. Leaders
// count attempts, since one may have failed on one side only, and each has a place of its own:
// nothing said in one is taken for a word of the next. Where members of one group name different
// leaders, all these tell the other side, which waits for one of them, who they are: it counts that
// attempt for each. Where members of both groups do, neither side hears the other, since it cannot
// know which of its leaders the other speaks to: two of which only one named the other then count
// apart, and wait for each other at different places.
#include <algorithm>

#include "comm/agree.h"

namespace tutti::comm {
namespace {

// What a leader tells its group of the other side.
struct Word {
  std::int64_t code = 0;
  std::int64_t size = 0;
  std::int64_t leader = 0;  // of the other side, in the job
  std::int64_t context = 0, tag = 0;
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

bool leads(const Meeting& local, const Leaders& leaders) {
  return local.rank() == leaders.local;
}

// Two that both led one group would each wait for the other side, which answers one of them.
// rivals: the job's ranks of those that are leaders like me, and of me, where members disagree.
// Where they could not meet: none.
Result<void> agree_on_leader(const Meeting& local, const Leaders& leaders, const Group& mine,
                             Runtime& runtime, std::vector<int>& rivals) {
  std::int64_t named[] = {leaders.local, -leaders.local};
  if (const Code code = local.allreduce_max(named); code != Code::ok)
    return fail(code, "the members of a group could not meet");
  if (named[0] == -named[1]) return {};
  struct Aim {
    std::int64_t peer = kProcNull, context = 0, tag = 0;
    bool operator==(const Aim&) const = default;
  };
  std::vector<Aim> aims(static_cast<std::size_t>(local.size()));
  Aim& aim = aims[static_cast<std::size_t>(local.rank())];
  if (leads(local, leaders)) aim = {leaders.remote_job_rank, leaders.at.context, leaders.at.tag};
  if (const Code code = local.allgather(std::as_writable_bytes(std::span(aims))); code != Code::ok)
    return fail(code, "the members of a group could not meet");
  for (int member = 0; member < local.size(); ++member)
    if (aims[static_cast<std::size_t>(member)] == aim) rivals.push_back(mine.at(member));
  runtime.reason = {.is_mismatch = true};
  return fail(Code::other, "members of one group name different leaders, its ranks " +
                               std::to_string(-named[1]) + " and " + std::to_string(named[0]));
}

// In the place of a size: how many they are, below zero; then who.
void tell_rivals(const Leaders& leaders, const std::vector<int>& rivals, Runtime& runtime) {
  const std::int64_t size = -static_cast<std::int64_t>(rivals.size());
  say_word(runtime, leaders.remote_job_rank, leaders.at, std::as_bytes(std::span(&size, 1)));
  say_word(runtime, leaders.remote_job_rank, leaders.at, std::as_bytes(std::span(rivals)));
}

void hear_rivals(const Leaders& leaders, std::int64_t size, Runtime& runtime) {
  std::vector<int> rivals(static_cast<std::size_t>(-size));
  const Code code = hear_word(runtime, leaders.remote_job_rank, leaders.at,
                              std::as_writable_bytes(std::span(rivals)));
  for (const int rival : rivals)
    if (code == Code::ok && rival != leaders.remote_job_rank)
      ++runtime.attempts_between[{rival, leaders.first.context, leaders.first.tag}];
}

Word ask_size(const Leaders& leaders, const Group& mine, Runtime& runtime) {
  Word word;
  std::int64_t size = mine.size();
  word.code = static_cast<std::int64_t>(swap_words(runtime, leaders.remote_job_rank, leaders.at,
                                                   bytes_of(size), bytes_of(word.size)));
  if (word.code == 0 && word.size < 0) {  // a group may be empty (MPI_Comm_create)
    hear_rivals(leaders, word.size, runtime);
    word.code = static_cast<std::int64_t>(Code::other);
  }
  word.leader = leaders.remote_job_rank;
  word.context = leaders.at.context;
  word.tag = leaders.at.tag;
  return word;
}

// The other side as all members learn of it.
struct OtherSide {
  Word word;
  GroupRef group;
};

// Whatever a leader meets, it tells: its group waits for it.
Result<OtherSide> hear(const Meeting& local, const Leaders& leaders, const Group& mine,
                       Runtime& runtime) {
  OtherSide heard;
  std::vector<int> members;
  if (leads(local, leaders)) {
    heard.word = ask_size(leaders, mine, runtime);
    if (heard.word.code == 0) {
      members.resize(static_cast<std::size_t>(heard.word.size));
      heard.word.code = static_cast<std::int64_t>(swap_words(
          runtime, leaders.remote_job_rank, leaders.at, std::as_bytes(std::span(mine.members())),
          std::as_writable_bytes(std::span(members))));
    }
  }
  Code code = local.bcast(bytes_of(heard.word), leaders.local);
  if (code != Code::ok) return fail(code, "the members of a group could not hear of the other");
  code = static_cast<Code>(heard.word.code);
  if (code == Code::other) {
    runtime.reason = {.failed_there = true};
    return fail(code, "the other group gave this call up");
  }
  if (code != Code::ok) return fail(code, "the leaders of two groups could not meet");
  members.resize(static_cast<std::size_t>(heard.word.size));
  if (!members.empty())
    code = local.bcast(std::as_writable_bytes(std::span(members)), leaders.local);
  if (code != Code::ok) return fail(code, "the members of a group could not hear of the other");
  heard.group = GroupRef::adopt(new Group(std::move(members)));
  return heard;
}

// The maximum over both groups: in mine, between the leaders, in mine.
Code joint_maximum(const Meeting& local, const Leaders& leaders, Runtime& runtime,
                   ContextIds::Values& values) {
  if (const Code code = local.allreduce_max(values); code != Code::ok) return code;
  struct {
    std::int64_t code;
    ContextIds::Values theirs;
  } word{};
  if (leads(local, leaders))
    word.code = static_cast<std::int64_t>(
        swap_words(runtime, leaders.remote_job_rank, leaders.at, std::as_bytes(std::span(values)),
                   std::as_writable_bytes(std::span(word.theirs))));
  if (const Code code = local.bcast(bytes_of(word), leaders.local); code != Code::ok) return code;
  for (std::size_t i = 0; i < std::size(values); ++i)
    values[i] = std::max(values[i], word.theirs[i]);
  return static_cast<Code>(word.code);
}

Result<CommRef> try_join(const Meeting& local, const Leaders& leaders, GroupRef mine,
                         Runtime& runtime) {
  TUTTI_TRY(heard, hear(local, leaders, *mine, runtime));
  if (intersection_of(*mine, *heard.group)->size() > 0)
    return fail(Code::comm, "the groups of an intercommunicator have ranks in common");
  const ContextIds::Claim claim{static_cast<std::uint32_t>(heard.word.context),
                                static_cast<int>(heard.word.tag)};
  TUTTI_TRY(number, runtime.contexts.agree(
                        claim,
                        [&](ContextIds::Values& values) {
                          return joint_maximum(local, leaders, runtime, values);
                        },
                        pause_of(runtime)));
  const int my_leader = mine->at(leaders.local);
  const bool first = my_leader < heard.word.leader;
  return CommMaker::make_inter(runtime, {std::move(mine), heard.group, first}, number);
}

Result<CommRef> join(const Meeting& local, const Leaders& leaders, GroupRef mine,
                     Runtime& runtime) {
  std::vector<int> rivals;
  const auto agreed = agree_on_leader(local, leaders, *mine, runtime, rivals);
  if (!leads(local, leaders)) {
    if (!agreed) return tl::unexpected(agreed.error());
    return try_join(local, leaders, std::move(mine), runtime);
  }
  const int earlier =
      runtime.attempts_between[{leaders.remote_job_rank, leaders.at.context, leaders.at.tag}]++;
  Leaders now = leaders;
  now.first = leaders.at;
  if (earlier > 0) now.at = place_of(leaders.at.context, leaders.at.tag, std::span(&earlier, 1));
  if (!agreed) {
    if (rivals.empty())
      give_up_word(runtime, now.remote_job_rank, now.at);
    else
      tell_rivals(now, rivals, runtime);
    return tl::unexpected(agreed.error());
  }
  auto made = try_join(local, now, std::move(mine), runtime);
  if (!made) give_up_word(runtime, now.remote_job_rank, now.at);
  return made;
}

}  // namespace

Result<GroupRef> swap_groups(const Meeting& local, const Leaders& leaders, const Group& mine,
                             Runtime& runtime) {
  TUTTI_TRY(heard, hear(local, leaders, mine, runtime));
  return heard.group;
}

// Leaders that say different tags (or texts), or name others than each other, wait for ever: the
// daemon is told for whom, on which communicator, if there is one, and with which tag.
Result<CommRef> create_inter(Communicator& comm, const Bridge& bridge) {
  Runtime& runtime = comm.runtime();
  const Meeting local = meeting_on(comm);
  const bool leads = local.rank() == bridge.local_leader;
  const Communicator& with = leads ? *bridge.peer_comm : comm;
  const int awaited = with.peer(leads ? bridge.remote_leader : bridge.local_leader);
  watch::detail(runtime.watch, {.context = with.context(), .peer = awaited, .tag = bridge.tag});
  if (!leads) return join(local, {bridge.local_leader, kProcNull, {}}, comm.group_ref(), runtime);
  Communicator& peer = *bridge.peer_comm;
  return join(
      local,
      {bridge.local_leader, peer.peer(bridge.remote_leader), {peer.coll_context(), bridge.tag}},
      comm.group_ref(), runtime);
}

Result<CommRef> create_inter_from_groups(Runtime& runtime, const Group& group,
                                         const GroupBridge& bridge) {
  const Meeting local(runtime, group.members(), place_of(bridge.text, group.members()));
  GroupRef mine = GroupRef::adopt(new Group(group.members()));
  const bool leads = local.rank() == bridge.local_leader;
  const int awaited =
      leads ? bridge.remote->at(bridge.remote_leader) : mine->at(bridge.local_leader);
  watch::detail(runtime.watch, {.context = kMeetingContext, .peer = awaited});
  if (!leads) return join(local, {bridge.local_leader, kProcNull, {}}, std::move(mine), runtime);
  return join(local, {bridge.local_leader, awaited, place_of(bridge.text, {})}, std::move(mine),
              runtime);
}

// The group that says low comes first; when both say the same, the one that is first anyway.
Result<CommRef> merge(Communicator& inter, bool high) {
  const Meeting meeting = meeting_on(inter);
  std::int64_t says[2] = {0, 0};  // the first group's word, the second's
  says[inter.is_first() ? 0 : 1] = high ? 1 : 0;
  if (const Code code = meeting.allreduce_max(says); code != Code::ok)
    return fail(code, "the members of two groups could not agree on their order");
  TUTTI_TRY(number, agree_at(inter.runtime(), meeting));
  std::vector<int> members = inter.state().joint;
  const int first = inter.is_first() ? inter.size() : inter.peers().size();
  if (says[0] > says[1]) std::rotate(members.begin(), members.begin() + first, members.end());
  return finish(inter.runtime(), GroupRef::adopt(new Group(std::move(members))), number);
}

}  // namespace tutti::comm
