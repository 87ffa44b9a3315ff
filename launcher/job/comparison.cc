// Comparing the collective calls of ranks.
#include "job/comparison.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "job/watcher.h"
#include "watch/calls.h"

namespace tutti::launch {
namespace {

// Which call of which communicator.
using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
Key key_of(const SeenCall& call) {
  return {call.context, call.group, call.number};
}

wireup::CallRecord record_of(const SeenCall& call) {
  wireup::CallRecord record{};
  record.fingerprint = call.fingerprint;
  record.bytes = call.bytes;
  record.root = call.root;
  record.function = call.function;
  return record;
}

bool is_same(const SeenCall& a, const SeenCall& b) {
  return watch::is_same_call(record_of(a), record_of(b));
}

std::string ranks_text(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + fold_ranks(ranks);
}

}  // namespace

void Comparison::take(const std::vector<SeenCall>& calls) {
  for (const SeenCall& call : calls)
    for (const int rank : call.ranks) of_rank_[rank].clear();
  for (const SeenCall& call : calls)
    for (const int rank : call.ranks) {
      SeenCall& mine = of_rank_[rank].emplace_back(call);
      mine.ranks.clear();
    }
}

std::string Comparison::difference() const {
  std::map<Key, const SeenCall*> first;
  const SeenCall* differs = nullptr;  // the first one that does
  for (const auto& [rank, calls] : of_rank_)
    for (const SeenCall& call : calls) {
      const auto [at, fresh] = first.try_emplace(key_of(call), &call);
      const SeenCall& other = *at->second;
      if (fresh || (is_same(call, other) && call.history == other.history)) continue;
      if (differs == nullptr || key_of(call) < key_of(*differs)) differs = &call;
    }
  if (differs == nullptr) return "";
  const SeenCall& other = *first[key_of(*differs)];
  const bool earlier = is_same(*differs, other);
  std::vector<int> here, there;
  for (const auto& [rank, calls] : of_rank_)
    for (const SeenCall& call : calls) {
      if (key_of(call) != key_of(*differs)) continue;
      const auto agrees = [&](const SeenCall& one) {
        return is_same(call, one) && (!earlier || call.history == one.history);
      };
      if (agrees(other))
        here.push_back(rank);
      else if (agrees(*differs))
        there.push_back(rank);
    }
  const std::string comm = differs->context < 2
                               ? "MPI_COMM_WORLD"
                               : "communicator " + std::to_string(differs->context / 2);
  const std::string number = std::to_string(differs->number & ~watch::kNonblocking);
  const std::string kind =
      (differs->number & watch::kNonblocking) != 0 ? "nonblocking collective" : "collective";
  const std::string head = "ranks call different collectives: ";
  if (earlier)
    return head + "before " + kind + " number " + number + " of " + comm + ", " + ranks_text(here) +
           " did not make the calls that " + ranks_text(there) + " made";
  return head + ranks_text(here) + " called " + watch::describe_call(record_of(other)) + ", " +
         ranks_text(there) + " called " + watch::describe_call(record_of(*differs)) + " (" + kind +
         " number " + number + " of " + comm + ")";
}

}  // namespace tutti::launch
