// Comparing the collective calls of ranks.
#include "job/comparison.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "job/watcher.h"
#include "watch/calls.h"

namespace tutti::launch::job {
namespace {

// Which call of which communicator.
using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
Key key_of(const control::SeenCall& call, Comparison::Order order) {
  if (order == Comparison::Order::of_each_kind) return {call.context, call.group, call.number};
  return {call.context, call.group, (call.number & ~watch::kNonblocking) + call.others};
}

wireup::CallRecord record_of(const control::SeenCall& call) {
  wireup::CallRecord record{};
  record.fingerprint = call.fingerprint;
  record.bytes = call.bytes;
  record.root = call.root;
  record.function = call.function;
  return record;
}

bool is_same(const control::SeenCall& a, const control::SeenCall& b) {
  return watch::is_same_call(record_of(a), record_of(b)) &&
         (a.number & watch::kNonblocking) == (b.number & watch::kNonblocking);
}

// Everything before a call can be compared only among calls of its kind.
bool is_same_history(const control::SeenCall& a, const control::SeenCall& b,
                     Comparison::Order order) {
  return order == Comparison::Order::of_all || a.history == b.history;
}

std::string communicator_of(const control::SeenCall& call) {
  return call.context < 2 ? "MPI_COMM_WORLD" : "communicator " + std::to_string(call.context / 2);
}

std::string ranks_text(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + fold_ranks(ranks);
}

}  // namespace

void Comparison::take(const std::vector<control::SeenCall>& calls) {
  for (const control::SeenCall& call : calls)
    for (const int rank : call.ranks) of_rank_[rank].clear();
  for (const control::SeenCall& call : calls)
    for (const int rank : call.ranks) {
      control::SeenCall& mine = of_rank_[rank].emplace_back(call);
      mine.ranks.clear();
    }
}

std::string Comparison::difference(Order order) const {
  std::map<Key, const control::SeenCall*> first;
  const control::SeenCall* differs = nullptr;  // the first one that does
  for (const auto& [rank, calls] : of_rank_)
    for (const control::SeenCall& call : calls) {
      // Members of intercommunicators do not all see every call: none has a history.
      if (order == Order::of_all && call.history == 0) continue;
      const auto [at, fresh] = first.try_emplace(key_of(call, order), &call);
      const control::SeenCall& other = *at->second;
      if (fresh || (is_same(call, other) && is_same_history(call, other, order))) continue;
      if (differs == nullptr || key_of(call, order) < key_of(*differs, order)) differs = &call;
    }
  if (differs == nullptr) return "";
  const control::SeenCall& other = *first[key_of(*differs, order)];
  const bool earlier = is_same(*differs, other);
  std::vector<int> here, there;
  for (const auto& [rank, calls] : of_rank_)
    for (const control::SeenCall& call : calls) {
      if (key_of(call, order) != key_of(*differs, order)) continue;
      const auto agrees = [&](const control::SeenCall& one) {
        return is_same(call, one) && (!earlier || call.history == one.history);
      };
      if (agrees(other))
        here.push_back(rank);
      else if (agrees(*differs))
        there.push_back(rank);
    }
  const std::string comm = communicator_of(*differs);
  const std::string number =
      std::to_string(std::get<2>(key_of(*differs, order)) & ~watch::kNonblocking);
  const std::string kind =
      order == Order::of_each_kind && (differs->number & watch::kNonblocking) != 0
          ? "nonblocking collective"
          : "collective";
  const std::string head = "ranks call different collectives: ";
  if (earlier)
    return head + "before " + kind + " number " + number + " of " + comm + ", " + ranks_text(here) +
           " did not make the calls that " + ranks_text(there) + " made";
  return head + ranks_text(here) + " called " + watch::describe_call(record_of(other)) + ", " +
         ranks_text(there) + " called " + watch::describe_call(record_of(*differs)) + " (" + kind +
         " number " + number + " of " + comm + ")";
}

}  // namespace tutti::launch::job
