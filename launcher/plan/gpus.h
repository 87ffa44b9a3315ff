// Which GPUs of its host each rank has, or is near.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace tutti::launch::plan {

// With --gpus-per-rank so many each, round and round; mapped by device=gpu, those it is mapped
// near. Errors: more for each than a host has. A host whose GPUs nobody knows: its ranks get none
// here.
Result<void> assign_gpus(Plan& plan, const cli::Placement& placement,
                         const std::vector<SharedMachine>& machines);

// "CUDA_VISIBLE_DEVICES is -1", of a machine that hides its GPUs.
std::string what_hides_gpus(const topo::Machine& machine);

}  // namespace tutti::launch::plan
