// What ranks see beside the table of rank_env.cc when prun is called srun.
#pragma once

#include <string>
#include <vector>

#include "daemon/rank_env.h"

namespace tutti::launch::daemon {

// facts.as_srun is not null. What a Slurm job says of itself stays as it is.
void add_srun_variables(std::vector<std::string>& environment, const RankFacts& facts);

}  // namespace tutti::launch::daemon
