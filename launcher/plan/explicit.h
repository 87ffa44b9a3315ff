// Mapping by a rankfile or in sequence: each rank's host is written down.
#pragma once

#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace tutti::launch {

bool is_given_by_rank(const Placement& placement);
// host is an index into the allocation. Errors: a line that makes no sense, a rank without one.
Result<std::vector<PlannedRank>> ranks_given(const JobSpec& job, const Allocation& allocation);

}  // namespace tutti::launch
