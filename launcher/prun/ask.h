// Asking pruns that run on this machine about their jobs: --ps, --stacks, --gdb.
#pragma once

#include "cli/cli.h"

namespace tutti::launch::prun {

// Each returns prun's status.
int list_jobs();
int print_stacks(const cli::PrintStacks& wish);
// `spec` says how hosts are reached. The debugger replaces this process.
int attach_debugger(const cli::AttachDebugger& wish, const cli::JobSpec& spec);

}  // namespace tutti::launch::prun
