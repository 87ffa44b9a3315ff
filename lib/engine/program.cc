// Programs: what is known of a schedule before it is bound to memory.
//
// Messages of one pair of ranks match in the order of their steps. A send whose data are ready
// early must therefore wait until the sends to that peer before it have been posted (not done);
// the same for receives. That order is one more condition of a step, counted with its
// predecessors.
#include <algorithm>
#include <map>

#include "engine/engine.h"

namespace tutti::engine {

Program::Program(sched::Schedule made) : schedule(std::move(made)) {
  const auto steps = static_cast<std::uint32_t>(schedule.steps.size());
  next_to_peer.assign(steps, kNone);
  conditions.resize(steps);
  std::map<std::pair<bool, int>, std::uint32_t> last;  // (is a send, peer) -> its latest step
  for (std::uint32_t s = 0; s < steps; ++s) {
    const sched::Step& step = schedule.steps[s];
    conditions[s] = step.predecessors;
    if (step.kind == sched::StepKind::reduce && !step.from_first)
      most_swapped = std::max(most_swapped, step.from.count);
    if (step.kind != sched::StepKind::send && step.kind != sched::StepKind::recv) continue;
    const auto [at, is_first] =
        last.try_emplace({step.kind == sched::StepKind::send, step.peer}, s);
    if (is_first) continue;
    next_to_peer[at->second] = s;
    ++conditions[s];
    at->second = s;
  }
}

}  // namespace tutti::engine
