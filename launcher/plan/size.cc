// The most ranks of a host and of a job.
#include "plan/size.h"

#include <cstdint>
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

}  // namespace tutti::launch::plan
