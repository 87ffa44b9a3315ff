// Numbering: from "how many ranks on each host" to "which host has rank r".
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "plan/plan.h"

namespace tutti::launch::plan {

// counts[h] ranks of one program on host h -> the host of its first, second, ... rank.
// `objects`: of a host, for --rank-by span and SPAN, which go over the objects of all hosts.
std::vector<int> number_ranks(const std::vector<int>& counts, const cli::Placement& placement,
                              int objects);
// Whether so many ranks can be: those that a job asks for, before they are mapped, and a plan's.
Result<void> check_size(const cli::JobSpec& job);
Result<void> check_size(const Plan& plan);

}  // namespace tutti::launch::plan
