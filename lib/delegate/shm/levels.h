// levels: who hears whom on a host of many caches, so that not everybody looks at everybody's line.
//
// The members that share a cache (or NUMA node, or package) say what they have to the first of
// them, which says it on as one; at the top everybody hears the few that are left. The plan is a
// pure function of where members are bound, so all make the same one.
#pragma once

#include <span>
#include <vector>

#include "model/lines.h"

namespace tutti::delegate {

// By member who hears it, a member before it; -1: everybody (model::meeting_us). All -1: one flat
// level, where levels would not save a tenth of the time by the model, or some place is not known.
std::vector<int> plan_levels(std::span<const model::BoundAt> places);

// A member's part of such a plan, in the order of ranks.
struct Levels {
  std::vector<int> below;  // whom it hears before it speaks
  std::vector<int> tops;   // whom all hear then
};
Levels levels_of(std::span<const int> above, int me);

}  // namespace tutti::delegate
