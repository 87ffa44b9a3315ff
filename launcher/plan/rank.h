// Numbering: from "how many ranks on each host" to "which host has rank r".
#pragma once

#include <vector>

#include "cli/cli.h"

namespace tutti::launch::plan {

// counts[h] ranks of one program on host h -> the host of its first, second, ... rank.
// `objects`: of a host, for --rank-by span and SPAN, which go over the objects of all hosts.
std::vector<int> number_ranks(const std::vector<int>& counts, const cli::Placement& placement,
                              int objects);

}  // namespace tutti::launch::plan
