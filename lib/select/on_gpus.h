// on_gpus: what calls of GPU memory take by our own algorithms, by a GPU vendor's library (NCCL),
// and by both (part of this room's door). Where nothing is measured yet, a Contest goes by these.
#pragma once

#include "select/contest.h"
#include "select/select.h"

namespace tutti::select {

// How members that cannot all be in the library together are divided: ours inside those that share
// a GPU and the library between these, or the library inside hosts and ours between them.
struct GpuLevels {
  int groups = 0;   // 0: they are not divided
  int largest = 0;  // members of the largest group
  bool are_hosts = false;
};

// The team with links between memories of GPUs.
TeamFacts facts_on_gpus(const TeamFacts& team, const model::Costs& costs);

// Of a collective that a vendor's library serves. `ours`: what the members' own choice is. Ways
// that cannot serve it take for ever.
Contest::Times predict_on_gpus(const Question& question, const Choice& ours, const TeamFacts& team,
                               const model::Costs& costs, const GpuLevels& levels,
                               const Knobs& knobs);

}  // namespace tutti::select
