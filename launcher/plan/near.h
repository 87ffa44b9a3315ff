// Mapping by GPUs and network cards: the processors near each of a host's devices, in turn.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/deal.h"

namespace tutti::launch::plan {

bool is_by_device(cli::MapBy map_by);
// How many devices of this kind the machine has.
int devices_of(const topo::Machine& machine, cli::MapBy map_by);

// The units of a machine, in groups that share their place, and the group of each device in turn.
struct NearGroups {
  std::vector<Units> groups;
  std::vector<std::size_t> turns;
};
// Without a GPU or card: NUMA nodes in their place. Errors: a device of this name is not there.
Result<NearGroups> near_groups(const topo::Machine& machine, const cli::Placement& placement);

// What is said of a host without such devices; empty: it has some.
std::string without_devices(const topo::Machine& machine, const cli::Placement& placement);

}  // namespace tutti::launch::plan
