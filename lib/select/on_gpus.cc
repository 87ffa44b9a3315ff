// Predictions for GPU memory: the same algorithms over slower links, and the library in one line.
#include "select/on_gpus.h"

#include <algorithm>
#include <cmath>

#include "select/candidates.h"

namespace tutti::select {
namespace {

using coll::Collective;

constexpr double kForEver_us = 1e15;

// A message between GPUs passes two copies beside its link, which overlap with it.
LinkClass from_gpu_to_gpu(const LinkClass& link, const LinkClass& copies) {
  return {link.latency_us + copies.latency_us, std::max(link.us_per_byte, copies.us_per_byte)};
}

}  // namespace

TeamFacts facts_on_gpus(const TeamFacts& team, const model::Costs& costs) {
  const LinkClass copies = costs.of_link("gpu", 0);
  TeamFacts facts = team;
  facts.inside = from_gpu_to_gpu(team.inside, copies);
  facts.between = from_gpu_to_gpu(team.between, copies);
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

double by_levels(const Question& question, const TeamFacts& team, const model::Costs& costs,
                 const GpuLevels& levels, const Knobs& knobs) {
  if (levels.groups == 0 || !coll::delegated(question.collective).by_levels) return kForEver_us;
  const TeamFacts inner = part(team, levels.largest, 1);
  const TeamFacts outer = part(team, levels.groups, std::min(levels.groups, team.hosts));
  const auto inside = [&](Collective collective) {
    if (!levels.are_hosts) return by_ours(collective, question, facts_on_gpus(inner, costs), knobs);
    Question like = question;
    like.collective = collective;
    return by_library(like, inner, costs);
  };
  const double among =
      levels.are_hosts ? by_ours(question.collective, question, facts_on_gpus(outer, costs), knobs)
                       : by_library(question, outer, costs);
  const double first = question.collective == Collective::bcast ? 0 : inside(Collective::reduce);
  return first + among + inside(Collective::bcast);
}

}  // namespace

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
