// Collective calls of all ranks side by side: members of a communicator must make the same ones in
// the same order. Pure.
//
// What ranks find by the messages they exchange is told by themselves; this finds the rest: two
// roots of which each waits for the other, calls that left data where nobody looks for them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "control/messages.h"

namespace tutti::launch::job {

class Comparison {
 public:
  // All that is known of these ranks now.
  void take(const std::vector<control::SeenCall>& calls);
  // Blocking calls and the others are numbered apart, and programs that mix them in another order
  // on each rank, which they should not, mostly work: so this counts only where nothing moves.
  enum class Order { of_each_kind, of_all };
  // One line about the first calls that differ; empty: none.
  std::string difference(Order order = Order::of_each_kind) const;

 private:
  std::map<int, std::vector<control::SeenCall>> of_rank_;  // `ranks` is empty there
};

}  // namespace tutti::launch::job
