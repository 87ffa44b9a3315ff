// Which of prun's variables go along to hosts that are reached by network.
#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"

namespace tutti::launch::job {

// Of `environment` ("NAME=value"), less what -x and its like name, and the knobs: those travel by
// name (see parts.cc).
std::vector<std::string> travelling(const cli::JobSpec& spec,
                                    const std::vector<std::string>& environment);

}  // namespace tutti::launch::job
