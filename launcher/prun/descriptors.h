// Files for output that are prun's own descriptors under another name.
#pragma once

#include "base/result.h"
#include "cli/cli.h"

namespace tutti::launch::prun {

// A descriptor that prun was given (`>(sed ...)`, `exec 7>f`) is nobody else's: a daemon that opens
// its name gets one of its own. Whatever names one (/dev/stdout, /proc/self/fd/1, a link to it) is
// called /dev/fd/N from here on, and written by prun. Comes before prun opens anything.
// Errors: it is not open, or not for writing.
Result<void> settle_output(cli::OutputSpec& output);

}  // namespace tutti::launch::prun
