// Whether so many ranks can be: those that a job asks for, before they are mapped, and a plan's.
#pragma once

#include "base/result.h"
#include "cli/cli.h"
#include "plan/plan.h"

namespace tutti::launch::plan {

Result<void> check_size(const cli::JobSpec& job);
Result<void> check_size(const Plan& plan);

}  // namespace tutti::launch::plan
