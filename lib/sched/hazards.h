// Inference of dependencies; private to sched.
#pragma once

#include <utility>

#include "sched/sched.h"

namespace tutti::sched {

using Dependency = std::pair<std::uint32_t, std::uint32_t>;  // earlier step, later step

// Fills successors and predecessors of every step from what the steps read and write.
void link(Schedule& schedule);

// Stores these edges in the schedule; kept in the order given, by earlier step.
void store_edges(Schedule& schedule, const std::vector<Dependency>& edges);

}  // namespace tutti::sched
