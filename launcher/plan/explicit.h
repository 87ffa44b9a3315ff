// Mapping by a rankfile or in sequence: each rank's host is written down.
#pragma once

#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace tutti::launch::plan {

bool is_given_by_rank(const cli::Placement& placement);
// host is an index into the allocation. Errors: a line that makes no sense, a rank without one.
Result<std::vector<PlannedRank>> ranks_given(const cli::JobSpec& job,
                                             const hosts::Allocation& allocation);

}  // namespace tutti::launch::plan
