// Two levels come to be: groups of members, and one leader of each group. Either a group is those
// that share a GPU, which work by our own copies, with NCCL between the leaders; or it is a host's
// members, with NCCL inside and our schedules between the leaders. Both levels are communicators of
// their own, so that a level's calls are agreed on and weighed as all others are.
#include <algorithm>

#include "comm/agree.h"
#include "comm/gpu/calls.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

Result<CommRef> part_of(Communicator& comm, int color, const char* what) {
  TUTTI_TRY(made, split(comm, color, comm.rank()));
  if (!made) return CommRef();
  made->name = comm.name + what;
  force(*made, comm.forced());
  return made;
}

// A leader's, which is its process's for all its communicators. Leaders of GPUs go by levels of
// hosts themselves, in the middle of a call by levels: so there is another buffer for that.
std::shared_ptr<delegate::GpuBuffer> buffer_on(Communicator& comm, int device, bool are_hosts) {
  Runtime& runtime = comm.runtime();
  std::shared_ptr<delegate::GpuBuffer>& buffer = runtime.gpu_buffers[{device, are_hosts}];
  if (buffer != nullptr && !buffer->is_lost()) return buffer;
  auto taken = runtime.gpu_library->take_buffer(device, 2 * select::kLevelPart);
  if (!taken) explain_gpus(comm, "no room for levels on its GPU: " + taken.error().text);
  return buffer = taken ? std::move(*taken) : nullptr;
}

Result<void> take_buffers(Communicator& comm, bool are_hosts) {
  GpuCalls& calls = *comm.state().gpu_calls;
  if (calls.levels.among) calls.levels.buffer = buffer_on(comm, calls.device, are_hosts);
  std::int64_t lack = calls.levels.among && calls.levels.buffer == nullptr ? 1 : 0;
  if (const Code code = allreduce_max(comm, std::span(&lack, 1)); code != Code::ok)
    return fail(code, "members could not agree on how to make a call of GPU memory");
  calls.levels.have_rooms = lack == 0;
  return {};
}

// Runs of members whose groups are in order.
int slices_of(const std::vector<int>& groups) {
  int slices = 1;
  for (std::size_t rank = 1; rank < groups.size(); ++rank)
    if (groups[rank] < groups[rank - 1]) ++slices;
  return slices;
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
  calls.levels.inside = std::move(inside);
  calls.levels.among = std::move(among);
  TUTTI_DO(take_buffers(comm, are_hosts));
  // NCCL is where it can be and is wanted: elsewhere nobody asks for it.
  calls.levels.inside->state().asks_gpus =
      are_hosts && calls.levels.inside->size() > 1 && comm.runtime().may_have_gpus;
  if (calls.levels.among) calls.levels.among->state().asks_gpus = !are_hosts;
  calls.shape = {static_cast<int>(sizes.size()), *std::max_element(sizes.begin(), sizes.end()),
                 are_hosts, slices_of(groups)};
  calls.can[GpuCalls::Way::levels] = true;
  return {};
}

bool can_go_by_levels(const GpuCalls& calls, coll::Collective collective) {
  const select::LevelPlan* const plan = select::level_plan(collective);
  return calls.can[GpuCalls::Way::levels] && plan != nullptr &&
         (calls.levels.have_rooms || !plan->needs_room);
}

}  // namespace tutti::comm
