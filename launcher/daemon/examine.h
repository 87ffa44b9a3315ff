// What a host is like, for `prun --check`: each finding tried, not guessed, where that is possible.
#pragma once

#include <string>
#include <vector>

#include "control/messages.h"

namespace tutti::launch::daemon {

// Asked about GPUs' libraries, which a daemon that is linked statically cannot open.
struct InfoProgram {
  std::string path;                      // tutti-info; empty: not here
  std::vector<std::string> environment;  // of ranks here
};

control::Findings examine_host(const control::Examine& wish, const InfoProgram& info);

}  // namespace tutti::launch::daemon
