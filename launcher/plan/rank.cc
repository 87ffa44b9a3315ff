// Numbering by slot goes host by host (a a b b), by node in turn over the hosts (a b a b).
// Without --rank-by ranks are numbered in the order in which the policy mapped them.
#include "plan/rank.h"

#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include "wireup/protocol.h"

namespace tutti::launch::plan {
namespace {

// What a daemon is told of its ranks is one message (control::kMaxFrameBytes), and a rank of its
// own takes some hundred bytes in it.
constexpr std::int64_t kMostOfHost = 1 << 19;

Result<void> at_most(std::int64_t most, std::int64_t ranks, const std::string& where) {
  if (ranks <= most) return {};
  return fail(Code::arg, "too many ranks: " + std::to_string(ranks) + where + ", and " +
                             std::to_string(most) + " are the most");
}

}  // namespace

Result<void> check_size(const cli::JobSpec& job) {
  std::int64_t ranks = 0;
  for (const cli::AppSpec& app : job.apps) ranks += app.ranks;
  return at_most(wireup::kMostRanks, ranks, " in one job");
}

Result<void> check_size(const Plan& plan) {
  for (const PlannedHost& host : plan.hosts)
    TUTTI_DO(at_most(kMostOfHost, host.local_ranks, " on host " + host.name));
  return at_most(wireup::kMostRanks, static_cast<std::int64_t>(plan.ranks.size()), " in one job");
}

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
