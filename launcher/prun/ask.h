// Asking pruns that run on this machine about their jobs: --ps, --stacks, --gdb.
#pragma once

#include "cli/cli.h"

namespace tutti::launch::prun {

// spec.show: "ps", "stacks=JOB" or "gdb=RANK@JOB"; JOB is a job's number or its prun's process
// number, and may be missing where there is one job. Returns prun's status; gdb replaces this
// process.
int ask_about_jobs(const cli::JobSpec& spec);

}  // namespace tutti::launch::prun
