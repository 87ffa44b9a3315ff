// A daemon is believed about the ranks that it was given, and about no others. Pure.
#pragma once

#include "control/messages.h"
#include "plan/plan.h"

namespace tutti::launch::job {

// Whether every rank that this message of the host's daemon is about is one of its own.
bool is_of_own_ranks(const control::Message& message, const plan::Plan& plan, int host);

}  // namespace tutti::launch::job
