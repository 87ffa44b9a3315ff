// Numbering: from "how many ranks on each host" to "which host has rank r".
#pragma once

#include <vector>

#include "cli/cli.h"

namespace tutti::launch {

// counts[h] ranks of one program on host h -> the host of its first, second, ... rank.
std::vector<int> number_ranks(const std::vector<int>& counts, MapBy map_by, RankBy rank_by);

}  // namespace tutti::launch
