// Predictions for GPU memory: the same algorithms over slower links, and the library in one line.
#include "select/on_gpus.h"

#include <algorithm>
#include <cmath>

#include "select/candidates.h"

namespace tutti::select {
namespace {

using coll::Collective;

constexpr double kForEver_us = 1e15;

}  // namespace

// A message between hosts passes two copies beside its link, which overlap with it.
TeamFacts facts_on_gpus(const TeamFacts& team, const model::Costs& costs) {
  const LinkClass copies = costs.of_link("gpu", 0);
  TeamFacts facts = team;
  facts.inside = costs.of_link("ipc", 0);
  facts.between.latency_us += copies.latency_us;
  facts.between.us_per_byte = std::max(team.between.us_per_byte, copies.us_per_byte);
  facts.fold_us_per_byte = costs.gpu_fold_us_per_byte();
  return facts;
}

namespace {

double by_library(const Question& question, const TeamFacts& team, const model::Costs& costs) {
  const LinkClass row = costs.of_link("nccl", 0);
  const double hops = team.hosts > 1 ? 2 * std::ceil(std::log2(team.hosts)) : 0;
  const double per_byte =
      team.hosts > 1 ? std::max(row.us_per_byte, team.between.us_per_byte) : row.us_per_byte;
  const auto bytes = static_cast<double>(question.bytes);
  return row.latency_us + hops * team.between.latency_us +
         per_byte * coll::delegated(question.collective).on_gpus(team.size, bytes);
}

double by_ours(Collective collective, const Question& like, const TeamFacts& team,
               const Knobs& knobs) {
  Question question = like;
  question.collective = collective;
  double best = kForEver_us;
  for (const Candidate& candidate : candidates(question, team, knobs))
    best = std::min(best, candidate.predicted_us);
  return best;
}

TeamFacts part(const TeamFacts& team, int size, int hosts) {
  TeamFacts facts = team;
  facts.size = size;
  facts.hosts = hosts;
  facts.largest_host = (size + hosts - 1) / hosts;
  facts.shm_delegate = hosts == 1;
  return facts;
}

constexpr double as_said(double n, double, double) {
  return n;
}
constexpr double of_group(double n, double, double g) {
  return n * g;
}
constexpr double of_all(double n, double p, double) {
  return n * p;
}
constexpr double of_each(double n, double p, double) {
  return n / p;
}

constexpr LevelPlan kLevelPlans[] = {
    {Collective::bcast,
     false,
     {{{CallLevel::in_roots, Collective::bcast, as_said},
       {CallLevel::among, Collective::bcast, as_said},
       {CallLevel::in_others, Collective::bcast, as_said}}}},
    {Collective::reduce,
     true,
     {{{CallLevel::in_others, Collective::reduce, as_said},
       {CallLevel::among, Collective::reduce, as_said},
       {CallLevel::in_roots, Collective::reduce, as_said}}}},
    {Collective::allreduce,
     false,
     {{{CallLevel::inside, Collective::reduce, as_said},
       {CallLevel::among, Collective::allreduce, as_said},
       {CallLevel::inside, Collective::bcast, as_said}}}},
    {Collective::reduce_scatter,
     true,
     {{{CallLevel::inside, Collective::reduce, as_said},
       {CallLevel::among, Collective::reduce_scatter, as_said, true},
       {CallLevel::inside, Collective::scatter, of_each}}}},
    {Collective::allgather,
     false,
     {{{CallLevel::inside, Collective::gather, as_said},
       {CallLevel::among, Collective::allgather, of_group, true},
       {CallLevel::inside, Collective::bcast, of_all}}}},
};

// Ours inside those that share a GPU and the library among these; between hosts the other way
// round.
double by_levels(const Question& question, const TeamFacts& team, const model::Costs& costs,
                 const GpuLevels& levels, const Knobs& knobs) {
  const LevelPlan* const plan = level_plan(question.collective);
  if (levels.groups == 0 || plan == nullptr) return kForEver_us;
  const TeamFacts inner = part(team, levels.largest, 1);
  const TeamFacts outer = part(team, levels.groups, std::min(levels.groups, team.hosts));
  const auto bytes = static_cast<double>(question.bytes);
  const double parts = plan->needs_room ? std::ceil(bytes / kLevelPart) : 1;
  double us = 0;
  for (const LevelStage& stage : plan->stages) {
    const bool is_among = stage.level == CallLevel::among;
    const double calls = parts * (stage.is_sliced ? levels.slices : 1);
    const double said = stage.bytes(bytes, team.size, levels.largest) / calls;
    Question like = question;
    like.collective = stage.collective;
    like.bytes = std::max<std::int64_t>(1, std::llround(said));
    const TeamFacts& facts = is_among ? outer : inner;
    us += calls * (is_among == levels.are_hosts
                       ? by_ours(stage.collective, like, facts_on_gpus(facts, costs), knobs)
                       : by_library(like, facts, costs));
  }
  return us;
}

}  // namespace

const LevelPlan* level_plan(Collective collective) {
  const auto* const found = std::ranges::find(kLevelPlans, collective, &LevelPlan::collective);
  return found == std::end(kLevelPlans) ? nullptr : found;
}

Contest::Times predict_on_gpus(const Question& question, const Choice& ours, const TeamFacts& team,
                               const model::Costs& costs, const GpuLevels& levels,
                               const Knobs& knobs) {
  const TeamFacts facts = facts_on_gpus(team, costs);
  Contest::Times times{};
  times[Contest::ours] = predict_us(ours, question, facts);
  times[Contest::library] = by_library(question, team, costs);
  times[Contest::levels] = by_levels(question, team, costs, levels, knobs);
  return times;
}

}  // namespace tutti::select
