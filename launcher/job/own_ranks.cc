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
  // From the head, or between a daemon and its server.
  bool operator()(const control::Launch&) const { return false; }
  bool operator()(const control::Gone&) const { return false; }
  bool operator()(const control::Serves&) const { return false; }
  bool operator()(const control::Served&) const { return false; }
  bool operator()(const control::Fetch&) const { return true; }  // about a rank that it asks for
  template <class T>
  bool operator()(const T&) const {
    static_assert(
        !requires(T message) { message.rank; } && !requires(T message) { message.ranks; },
        "say whose ranks this message is about");
    return true;  // about no rank
  }
};

}  // namespace

bool is_of_own_ranks(const control::Message& message, const plan::Plan& plan, int host) {
  return std::visit(OwnRanks{plan, host}, message);
}

}  // namespace tutti::launch::job
