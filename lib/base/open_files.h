// A program that has no descriptors left cannot even say so: it is asked before anything is opened.
#pragma once

#include <sys/resource.h>

#include "base/result.h"

namespace tutti {

// A job needs at least so many: prun, its daemon, and a rank each.
inline constexpr rlim_t kLeastOpenFiles = 64;

// This process may open so many that it can work, and say what more is needed; from here on, where
// only the soft limit was in the way. The error names the limit.
Result<void> can_open_files();

}  // namespace tutti
