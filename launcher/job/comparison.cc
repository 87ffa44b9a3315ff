// Comparing the collective calls of ranks.
#include "job/comparison.h"

#include <algorithm>

#include "base/contexts.h"
#include "base/differing_calls.h"
#include "job/fold.h"
#include "watch/calls.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kMostFollowed = 1U << 18;  // a rank that lags further is not compared

wireup::CallRecord record_of(const control::SeenCall& call) {
  wireup::CallRecord record{};
  record.fingerprint = call.fingerprint;
  record.terms = call.terms;
  record.bytes = call.bytes;
  record.root = call.root;
  record.function = call.function;
  record.flags = call.flags;
  return record;
}

bool has(const control::SeenCall& call, std::uint32_t flag) {
  return (call.flags & flag) != 0;
}

}  // namespace

// Where a call is compared: among those of its number, and those of its own side.
std::vector<CallComparison::Key> CallComparison::keys_of(const control::SeenCall& call,
                                                         Order order) {
  const auto key = [&call](Part part, std::uint64_t number, int more = 0) {
    return Key{call.birth, call.first, static_cast<int>(part) + more, number};
  };
  const int kind = has(call, watch::kNonblocking) ? 1 : 0;
  // Members of intercommunicators do not all see every call: there is no order of all.
  if (order == Order::of_all)
    return has(call, watch::kInter) ? std::vector<Key>{}
                                    : std::vector{key(Part::of_all, call.number + call.others)};
  std::vector<Key> keys{key(Part::blocking, call.number, kind)};
  if (has(call, watch::kInter)) {
    const Part side = has(call, watch::kSecondSide) ? Part::second_side : Part::first_side;
    keys.push_back(key(side, call.number, kind));
  }
  return keys;
}

// True: that is another version.
bool CallComparison::add(Versions& versions, const control::SeenCall& call, const Key& key) {
  const int part = std::get<2>(key);
  const bool terms = part >= static_cast<int>(Part::first_side);
  // Everything before a call can be compared only among calls of its kind.
  const bool history = part != static_cast<int>(Part::of_all) && !has(call, watch::kInter);
  for (control::SeenCall& known : versions) {
    if (!watch::is_same_call(record_of(call), record_of(known), terms)) continue;
    if (history && call.history != known.history) continue;
    known.ranks.insert(known.ranks.end(), call.ranks.begin(), call.ranks.end());
    return false;
  }
  versions.push_back(call);
  return versions.size() > 1;
}

CallComparison::Difference CallComparison::describe(const Key& key, const Versions& versions) {
  const control::SeenCall &one = versions[0], &other = versions[1];
  const wireup::CallRecord a = record_of(one), b = record_of(other);
  const bool of_all = std::get<2>(key) == static_cast<int>(Part::of_all);
  const std::string kind =
      !of_all && has(other, watch::kNonblocking) ? "nonblocking collective" : "collective";
  const std::string which = kind + " number " + std::to_string(std::get<3>(key)) + " of " +
                            communicator_text(other.context);
  const std::string here = watch::describe_call(a), there = watch::describe_call(b);
  const bool is_earlier = watch::is_same_call(a, b, true);  // what differs was before
  Difference found{is_earlier ? "ranks call different collectives: " : differ_in(here, there),
                   has(one, watch::kOnlyWarns) || has(other, watch::kOnlyWarns),
                   other.birth,
                   other.first,
                   {*std::min_element(one.ranks.begin(), one.ranks.end()),
                    *std::min_element(other.ranks.begin(), other.ranks.end())}};
  if (is_earlier) {
    found.line += "before " + which + ", " + ranks_text(one.ranks) +
                  " did not make the calls that " + ranks_text(other.ranks) + " made";
    return found;
  }
  found.line += ranks_text(one.ranks) + " called " + here + ", " + ranks_text(other.ranks) +
                " called " + there + " (" + which + ")";
  if (here == there) found.line += "; they differ: " + watch::difference_between(a, b);
  return found;
}

bool CallComparison::is_overlooked(const control::SeenCall& call) const {
  const std::pair comm{call.birth, call.first};
  return std::find(overlooked_.begin(), overlooked_.end(), comm) != overlooked_.end();
}

void CallComparison::overlook(const Difference& told) {
  overlooked_.emplace_back(told.birth, told.first);
}

void CallComparison::take(const std::vector<control::SeenCall>& calls) {
  for (const control::SeenCall& call : calls)
    for (const int rank : call.ranks) of_rank_[rank].clear();
  for (const control::SeenCall& call : calls)
    for (const int rank : call.ranks) of_rank_[rank].emplace_back(call).ranks = {rank};
}

CallComparison::Difference CallComparison::difference(Order order) const {
  std::map<Key, Versions> all;
  const Key* lowest = nullptr;
  for (const auto& [rank, calls] : of_rank_)
    for (const control::SeenCall& call : calls) {
      if (is_overlooked(call)) continue;
      for (const Key& key : keys_of(call, order)) {
        const auto at = all.try_emplace(key).first;
        if (add(at->second, call, key) && (lowest == nullptr || key < *lowest)) lowest = &at->first;
      }
    }
  return lowest == nullptr ? Difference{} : describe(*lowest, all[*lowest]);
}

CallComparison::Difference CallComparison::follow(int rank, const wireup::CallRecord& call) {
  const control::SeenCall seen{call.birth, call.number,  call.others,   call.bytes,
                               call.first, call.root,    call.context,  call.fingerprint,
                               call.terms, call.history, call.function, call.flags,
                               {rank}};
  Difference found;
  for (const Order order : {Order::of_each_kind, Order::of_all})
    for (const Key& key : keys_of(seen, order)) {
      const auto [at, fresh] = followed_.try_emplace(key);
      if (fresh) oldest_.push_back(key);
      if (add(at->second, seen, key) && found.line.empty() && !is_overlooked(seen))
        found = describe(key, at->second);
    }
  for (; oldest_.size() > kMostFollowed; oldest_.pop_front()) followed_.erase(oldest_.front());
  return found;
}

}  // namespace tutti::launch::job
