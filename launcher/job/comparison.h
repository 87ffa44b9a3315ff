// Collective calls of all ranks side by side: members of a communicator must make the same ones in
// the same order. Pure.
//
// Ranks themselves tell of a mismatch that the messages of the call show them. This finds the
// others: two roots that wait for each other, calls whose data nobody looks for.
//
// A legal program must never be accused. So a call is identified by its communicator, its kind and
// its number. Numbers of contexts are used again, so a communicator is identified by its birth and
// its first member. What a rank has said of a call never changes, so two that differ at the moments
// at which they were looked at differ for good.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "control/messages.h"
#include "wireup/segment.h"

namespace tutti::launch::job {

class CallComparison {
 public:
  // Blocking calls and the others are numbered apart, and programs that mix them in another order
  // on each rank, which they should not, mostly work: so this counts only where nothing moves.
  enum class Order { of_each_kind, of_all };
  struct Difference {
    std::string line;
    bool only_warns = false;  // the ranks want to be warned
    std::uint64_t birth = 0;  // of the communicator
    int first = 0;
    std::vector<int> callers = {};  // the first rank of each side
  };

  // All that is known of these ranks now.
  void take(const std::vector<control::SeenCall>& calls);
  // The first calls that differ; an empty line: none.
  Difference difference(Order order = Order::of_each_kind) const;
  // One more call of a rank, among all that it makes (TUTTI_MISMATCH=every).
  Difference follow(int rank, const wireup::CallRecord& call);
  // That communicator is not looked at any more.
  void overlook(const Difference& told);

 private:
  enum class Part { blocking, nonblocking, of_all, first_side, second_side = first_side + 2 };
  using Key = std::tuple<std::uint64_t, int, int, std::uint64_t>;  // birth, first, part, number
  // What members say of one call, as far as it differs; `ranks` say so.
  using Versions = std::vector<control::SeenCall>;
  static std::vector<Key> keys_of(const control::SeenCall& call, Order order);
  static bool add(Versions& versions, const control::SeenCall& call, const Key& key);
  static Difference describe(const Key& key, const Versions& versions);
  bool is_overlooked(const control::SeenCall& call) const;

  std::map<int, std::vector<control::SeenCall>> of_rank_;  // `ranks` names that one
  std::map<Key, Versions> followed_;
  std::deque<Key> oldest_;  // of those, the oldest first
  std::vector<std::pair<std::uint64_t, int>> overlooked_;
};

}  // namespace tutti::launch::job
