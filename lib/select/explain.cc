// The words of TUTTI_EXPLAIN: who was considered, with which predicted time; the first is taken.
#include <algorithm>
#include <cstdio>

#include "base/numbers.h"
#include "base/text.h"
#include "select/candidates.h"

namespace tutti::select {
namespace {

std::string name_of(const Candidate& candidate) {
  return candidate.algorithm == nullptr ? coll::kDelegateName : candidate.algorithm->name;
}

std::string time_of(const Candidate& candidate) {
  char text[32];
  std::snprintf(text, sizeof text, candidate.predicted_us < 100 ? "%.1f us" : "%.0f us",
                candidate.predicted_us);
  return text;
}

}  // namespace

std::string explanation(const TeamFacts& team, const std::vector<Candidate>& all) {
  std::vector<Candidate> sorted(all);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) {
    return a.predicted_us < b.predicted_us;
  });
  std::string text =
      std::to_string(team.size) + " ranks, " + text::counted(team.hosts, "host") + ", predicted:";
  for (const Candidate& candidate : sorted)
    text +=
        (&candidate == sorted.data() ? " " : ", ") + name_of(candidate) + " " + time_of(candidate);
  return text;
}

}  // namespace tutti::select
