#include "job/own_ranks.h"

#include <algorithm>
#include <cstddef>
#include <variant>

namespace tutti::launch::job {
namespace {

struct OwnRanks {
  const plan::Plan& plan;
  int host;

  bool has(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return rank >= 0 && at < plan.ranks.size() && plan.ranks[at].host == host;
  }
  bool has_all(const std::vector<int>& ranks) const {
    return std::ranges::all_of(ranks, [this](int rank) { return has(rank); });
  }

  bool operator()(const control::Output& output) const { return has(output.rank); }
  bool operator()(const control::RankEnded& report) const { return has(report.rank); }
  bool operator()(const control::RankAborts& report) const { return has(report.rank); }
  bool operator()(const control::Links& links) const { return has(links.rank); }
  bool operator()(const control::Used& used) const { return has(used.rank); }
  bool operator()(const control::Stack& stack) const { return has(stack.rank); }
  bool operator()(const control::Addresses& addresses) const { return has_all(addresses.ranks); }
  bool operator()(const control::Seen& seen) const {
    return std::ranges::all_of(seen.ranks, [this](const auto& one) { return has(one.rank); }) &&
           std::ranges::all_of(seen.calls,
                               [this](const auto& call) { return has_all(call.ranks); });
  }
  template <class T>
  bool operator()(const T&) const {
    return true;  // about no rank; or (Fetch) about one that it asks for
  }
};

}  // namespace

bool is_of_own_ranks(const control::Message& message, const plan::Plan& plan, int host) {
  return std::visit(OwnRanks{plan, host}, message);
}

}  // namespace tutti::launch::job
