// The program that reaches a host (ssh, srun, a wrapper), as a process of ours with three pipes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace tutti::launch::spawn {

struct Agent {
  pid_t pid = 0;
  UniqueFd process;          // pidfd
  UniqueFd in, out, errors;  // our ends of its standard streams
};

// It dies with us (parent-death signal), and leads a process group. `environment`: "NAME=value";
// null: ours. False: errno says why.
bool start_agent(const std::vector<std::string>& words, const std::vector<std::string>* environment,
                 Agent* started);

}  // namespace tutti::launch::spawn
