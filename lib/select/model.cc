// The cost model: predicted time of each algorithm, in closed form.
#include <algorithm>
#include <bit>
#include <cmath>

#include "select/candidates.h"

namespace tutti::select {

using coll::Algorithm;
using coll::Collective;

bool delegate_serves(Collective collective) {
  using enum Collective;
  return collective == barrier || collective == bcast || collective == reduce ||
         collective == allreduce || collective == allgather;
}

bool delegate_can(const Question& question, const TeamFacts& team) {
  const bool folds =
      question.collective == Collective::allreduce || question.collective == Collective::reduce;
  return team.shm_delegate && delegate_serves(question.collective) &&
         (!folds || question.predefined_op);
}

std::int64_t segment_for(const Algorithm& algorithm, const Question& question,
                         const TeamFacts& team, const Knobs& knobs) {
  if (!algorithm.takes_segments) return 0;
  if (const auto forced = knobs.integer("TUTTI_SEGMENT_BYTES"); forced > 0) return forced;
  (void)team;
  return question.bytes > 256 * 1024 ? 64 * 1024 : 0;
}

double predict_us(const Algorithm& algorithm, const Question& question, const TeamFacts& team,
                  std::int64_t segment_bytes) {
  (void)segment_bytes;
  const LinkClass& link = team.hosts > 1 ? team.between : team.inside;
  const double rounds = std::bit_width(static_cast<unsigned>(team.size - 1));
  const double bytes = static_cast<double>(question.bytes);
  const std::string_view name = algorithm.name;
  const double p = team.size;
  if (name == "ring")
    return 2 * (p - 1) * (link.latency_us + bytes / p * (link.us_per_byte + team.fold_us_per_byte));
  return rounds * (link.latency_us + bytes * (link.us_per_byte + team.fold_us_per_byte));
}

std::vector<Candidate> candidates(const Question& question, const TeamFacts& team,
                                  const Knobs& knobs) {
  std::vector<Candidate> all;
  if (delegate_can(question, team)) all.push_back({nullptr, 0, 0});
  for (const Algorithm& algorithm : coll::catalogue()) {
    if (algorithm.collective != question.collective) continue;
    if (algorithm.needs_commutative && !question.commutative) continue;
    const auto segment = segment_for(algorithm, question, team, knobs);
    all.push_back({&algorithm, segment, predict_us(algorithm, question, team, segment)});
  }
  return all;
}

}  // namespace tutti::select
