// Who could serve a call, each with the segment that suits it and its predicted time.
#include "select/candidates.h"

#include <algorithm>
#include <cmath>

namespace tutti::select {

using coll::Algorithm;

namespace {

// Of the time without segments: what they bring must be worth the messages that they add. Of a long
// one's offer and grant, and of a core that folds and also moves bytes through a socket, the model
// knows nothing.
constexpr double kWorthSegments = 0.9;
// Segments that are weighed: powers of two around the product of bandwidth and latency.
constexpr std::int64_t kSmallestSegment = 8 << 10;
constexpr std::int64_t kLargestSegment = 1 << 20;
constexpr double kMostProducts = 8;  // in one segment, where that is more

std::int64_t largest_segment(const TeamFacts& team) {
  const LinkClass& link = team.hosts > 1 ? team.between : team.inside;
  return std::max<std::int64_t>(kLargestSegment,
                                std::llround(kMostProducts * link.latency_us / link.us_per_byte));
}

// Everyone writes once and reads once, each folds its share.
double delegate_us(const Question& question, const TeamFacts& team) {
  const coll::Delegated kind = coll::delegated(question.collective).kind;
  const double p = std::max(team.size, 1);
  const double n =
      static_cast<double>(question.bytes) * (kind == coll::Delegated::blocks ? p - 1 : 1);
  const double meet = model::kMeetShare * team.inside.latency_us * std::ceil(std::log2(p));
  const double per_byte =
      team.inside.us_per_byte + (kind == coll::Delegated::fold ? team.fold_us_per_byte / p : 0);
  return meet + model::kDirectShare * n * per_byte;
}

}  // namespace

double predict_us(const Algorithm& algorithm, const Question& question, const TeamFacts& team,
                  std::int64_t segment_bytes) {
  return algorithm.predict(model::Model(team, segment_bytes), static_cast<double>(question.bytes));
}

double predict_us(const Choice& choice, const Question& question, const TeamFacts& team) {
  return choice.algorithm == nullptr
             ? delegate_us(question, team)
             : predict_us(*choice.algorithm, question, team, choice.segment_bytes);
}

bool delegate_can(const Question& question, const TeamFacts& team) {
  return team.shm_delegate && question.may_delegate &&
         coll::delegated(question.collective).kind != coll::Delegated::never;
}

std::int64_t segment_for(const Algorithm& algorithm, const Question& question,
                         const TeamFacts& team, const Knobs& knobs) {
  if (!algorithm.takes_segments) return 0;
  if (const auto forced = knobs.integer("TUTTI_SEGMENT_BYTES"); forced > 0) return forced;
  std::int64_t best = 0;
  double best_us = kWorthSegments * predict_us(algorithm, question, team, 0);
  const std::int64_t largest = largest_segment(team);
  for (std::int64_t segment = kSmallestSegment; segment <= largest; segment *= 2) {
    if (segment >= question.bytes) break;
    const double us = predict_us(algorithm, question, team, segment);
    if (us < best_us) {
      best = segment;
      best_us = us;
    }
  }
  return best;
}

std::vector<Candidate> candidates(const Question& question, const TeamFacts& team,
                                  const Knobs& knobs) {
  std::vector<Candidate> all;
  if (delegate_can(question, team)) all.push_back({nullptr, 0, delegate_us(question, team)});
  for (const Algorithm& algorithm : coll::catalogue()) {
    if (algorithm.collective != question.collective) continue;
    if (algorithm.needs_commutative && !question.commutative) continue;
    if (algorithm.needs_hosts && (team.hosts <= 1 || team.largest_host <= 1)) continue;
    const auto segment = segment_for(algorithm, question, team, knobs);
    all.push_back({&algorithm, segment, predict_us(algorithm, question, team, segment)});
  }
  return all;
}

}  // namespace tutti::select
