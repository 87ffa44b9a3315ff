// Inference of dependencies; private to sched.
#pragma once

#include "sched/sched.h"

namespace tutti::sched {

// Fills successors and predecessors of every step from what the steps read and write.
void link(Schedule& schedule);

}  // namespace tutti::sched
