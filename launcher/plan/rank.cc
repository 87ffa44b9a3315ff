// Numbering by slot goes host by host (a a b b), by node in turn over the hosts (a b a b).
// Without --rank-by ranks are numbered in the order in which the policy mapped them.
#include "plan/rank.h"

#include <limits>
#include <numeric>

namespace tutti::launch::plan {

std::vector<int> number_ranks(const std::vector<int>& counts, const cli::Placement& placement,
                              int objects) {
  const cli::RankBy rank_by = placement.rank_by;
  const bool in_turn = rank_by == cli::RankBy::node ||
                       (rank_by == cli::RankBy::unset && placement.map_by == cli::MapBy::node);
  const bool spans =
      rank_by == cli::RankBy::span || (rank_by == cli::RankBy::unset && placement.span);
  const int step = in_turn ? 1 : spans ? objects : std::numeric_limits<int>::max();
  const int total = std::accumulate(counts.begin(), counts.end(), 0);
  std::vector<int> left = counts;
  std::vector<int> hosts;
  hosts.reserve(static_cast<std::size_t>(total));
  while (static_cast<int>(hosts.size()) < total) {
    for (std::size_t h = 0; h < left.size(); ++h) {
      const int now = std::min(left[h], step);
      hosts.insert(hosts.end(), static_cast<std::size_t>(now), static_cast<int>(h));
      left[h] -= now;
    }
  }
  return hosts;
}

}  // namespace tutti::launch::plan
