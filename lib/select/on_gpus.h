// on_gpus: what calls of GPU memory take by our own algorithms, by a GPU vendor's library (NCCL),
// and by both (part of this room's door). Where nothing is measured yet, a Contest goes by these.
#pragma once

#include <array>
#include <cstdint>

#include "select/contest.h"
#include "select/select.h"

namespace tutti::select {

// How members that cannot all be in the library together are divided: ours inside those that share
// a GPU and the library between these, or the library inside hosts and ours between them.
struct GpuLevels {
  int groups = 0;   // 0: they are not divided
  int largest = 0;  // members of the largest group
  bool are_hosts = false;
  int slices = 1;  // of the members' order, in each of which the groups' order is kept
};

// The team with links between memories of GPUs.
TeamFacts facts_on_gpus(const TeamFacts& team, const model::Costs& costs);

// A collective by levels is collectives of groups and of their leaders (each group's first member),
// stage after stage. This says which; comm/gpu/stages.cc gives them their buffers.
enum class CallLevel : std::uint8_t { inside, among, in_roots, in_others };  // among: the leaders
// What the call of a stage says where the whole call says n (Question::bytes), of p members in
// groups of up to g.
using StageBytes = double(double n, double p, double g);
struct LevelStage {
  CallLevel level;
  coll::Collective collective;
  StageBytes* bytes;
  bool is_sliced = false;  // blocks in the members' order: a call for each slice
};
struct LevelPlan {
  coll::Collective collective;
  bool needs_room;  // what a leader has half done is nobody's result: it goes part by part
  std::array<LevelStage, 3> stages;
};
// Null: levels would not serve it (record 0052).
const LevelPlan* level_plan(coll::Collective collective);
inline constexpr std::int64_t kLevelPart = 16 << 20;  // bytes

// Of a collective that a vendor's library serves. `ours`: what the members' own choice is. Ways
// that cannot serve it take for ever.
Contest::Times predict_on_gpus(const Question& question, const Choice& ours, const TeamFacts& team,
                               const model::Costs& costs, const GpuLevels& levels,
                               const Knobs& knobs);

}  // namespace tutti::select
