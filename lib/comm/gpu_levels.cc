// Two levels: each group of members inside itself, then one leader of each group, then inside
// again. Either those that share a GPU, by our own copies, and NCCL between their leaders; or NCCL
// inside each host, and our schedules between the hosts' leaders. Both levels are communicators of
// their own, so that a level's calls are agreed on and weighed as all others are.
//
// A stage that failed on one member must not let others wait: before each stage its members take
// the greatest of the codes that they bring from the stage before, and none begins where one has an
// error. So an error of one group comes to all groups by their leaders.
#include "comm/agree.h"
#include "comm/gpu_calls.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using coll::Collective;

// One stage of a call; `code` is what this member brings.
template <class Work>
Code stage(Communicator& comm, Code code, const Work& work) {
  auto word = static_cast<std::int64_t>(code);
  if (const Code lost = greatest(comm, std::span(&word, 1)); lost != Code::ok) return lost;
  return word != 0 ? static_cast<Code>(word) : work();
}

CollCall in_place_of(const CollCall& call, Collective collective) {
  CollCall part;
  part.collective = collective;
  part.recv = call.recv;
  part.recv_count = call.recv_count;
  part.recv_type = call.recv_type;
  return part;
}

// The vector of a bcast, from member `root` of the level.
Code pass_on(Communicator& comm, const CollCall& call, int root) {
  CollCall part = in_place_of(call, Collective::bcast);
  part.root = root;
  return run_within(comm, part);
}

Code fold_to_leader(Communicator& inside, const CollCall& call) {
  CollCall part = call;
  part.collective = Collective::reduce;
  part.root = 0;
  if (inside.rank() != 0 && call.in_place) {
    part.in_place = false;
    part.send = call.recv;
    part.send_count = call.recv_count;
    part.send_type = call.recv_type;
  }
  return run_within(inside, part);
}

Code fold_among(Communicator& among, const CollCall& call) {
  CollCall part = in_place_of(call, Collective::allreduce);
  part.op = call.op;
  part.in_place = true;
  return run_within(among, part);
}

Code allreduce(const GpuCalls::Levels& levels, const CollCall& call) {
  Communicator& inside = *levels.inside;
  Code code = stage(inside, Code::ok, [&] { return fold_to_leader(inside, call); });
  if (levels.among)
    code = stage(*levels.among, code, [&] { return fold_among(*levels.among, call); });
  return stage(inside, code, [&] { return pass_on(inside, call, 0); });
}

// First in the root's own group, whose leader may be another member.
Code bcast(const GpuCalls& calls, const CollCall& call, int me) {
  const auto place = [](const std::vector<int>& all, int rank) {
    return all[static_cast<std::size_t>(rank)];
  };
  const bool is_roots = place(calls.group_of, me) == place(calls.group_of, call.root);
  Communicator& inside = *calls.levels.inside;
  Code code = Code::ok;
  if (is_roots)
    code = stage(inside, code,
                 [&] { return pass_on(inside, call, place(calls.place_in_group, call.root)); });
  if (calls.levels.among) {
    Communicator& among = *calls.levels.among;
    code =
        stage(among, code, [&] { return pass_on(among, call, place(calls.group_of, call.root)); });
  }
  return is_roots ? code : stage(inside, code, [&] { return pass_on(inside, call, 0); });
}

Result<CommRef> part_of(Communicator& comm, int color, const char* what) {
  TUTTI_TRY(made, split(comm, color, comm.rank()));
  if (!made) return CommRef();
  made->name = comm.name + what;
  force(*made, comm.forced());
  return made;
}

}  // namespace

Result<void> make_levels(Communicator& comm, const std::vector<int>& groups, bool are_hosts) {
  GpuCalls& calls = *comm.state().gpu_calls;
  std::vector<int> sizes;
  calls.group_of = groups;
  calls.place_in_group.clear();
  for (const int group : groups) {
    sizes.resize(std::max(sizes.size(), static_cast<std::size_t>(group) + 1));
    calls.place_in_group.push_back(sizes[static_cast<std::size_t>(group)]++);
  }
  if (sizes.size() < 2) return {};  // a single GPU, or host: nothing for NCCL between them
  const auto me = static_cast<std::size_t>(comm.rank());
  const bool leads = calls.place_in_group[me] == 0;
  TUTTI_TRY(inside, part_of(comm, groups[me], are_hosts ? ", of a host" : ", of a GPU"));
  TUTTI_TRY(among, part_of(comm, leads ? 0 : kUndefined, ", leaders"));
  calls.levels = {std::move(inside), std::move(among)};
  // NCCL is where it can be and is wanted: elsewhere nobody asks for it.
  calls.levels.inside->state().asks_gpus =
      are_hosts && calls.levels.inside->size() > 1 && comm.runtime().may_have_gpus;
  if (calls.levels.among) calls.levels.among->state().asks_gpus = !are_hosts;
  calls.shape = {static_cast<int>(sizes.size()), *std::max_element(sizes.begin(), sizes.end()),
                 are_hosts};
  calls.can[GpuCalls::Way::levels] = true;
  return {};
}

// Of an allreduce or a bcast (coll::kDelegatedRows say so).
Code run_by_levels(Communicator& comm, const CollCall& call) {
  const GpuCalls& calls = *comm.state().gpu_calls;
  for (const CommRef& level : {calls.levels.inside, calls.levels.among})
    if (level) level->errors_end_job = comm.errors_end_job;
  return call.collective == Collective::bcast ? bcast(calls, call, comm.rank())
                                              : allreduce(calls.levels, call);
}

}  // namespace tutti::comm
