// Nodes that are started one by one: `prun --listen` and `--join`, and torchrun on every node.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "job/job.h"

namespace tutti::launch::prun {

// torchrun's --nproc-per-node auto, cpu, gpu, by this machine; and what else a torchrun job is.
Result<void> settle_torch(cli::JobSpec& spec, const std::optional<topo::Machine>& machine);

// Opens the meeting of this job, or joins it and serves there to its end: then the status comes
// back, for prun to end with. Neither, when all hosts are known.
Result<std::optional<int>> meet(job::JobRequest& request,
                                const std::optional<topo::Machine>& machine,
                                const std::string& this_host);

}  // namespace tutti::launch::prun
