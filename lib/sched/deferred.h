// Copies that are put off until somebody needs them; private to the builder.
//
// An algorithm starts by copying its contribution from `in` to where it works. Most of that
// copy is never needed: what is only sent can be sent from `in`, and the first fold into a
// place can take `in` as its operand. So the copy is kept here, piece by piece, until a step
// reads it in a way that needs it, overwrites it, or the schedule ends.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sched/sched.h"

namespace tutti::sched {

class Deferred {
 public:
  struct Copy {
    Slice from, into;
  };

  void add(Slice from, Slice into);
  // The origin of `slice` when all of it is one put-off copy.
  std::optional<Slice> origin(const Slice& slice) const;
  // Takes out the pieces that overlap `slice`.
  std::vector<Copy> take(const Slice& slice);
  std::vector<Copy> take_all();

 private:
  struct Piece {
    Count count = 0;
    Slice from;
  };
  using Key = std::pair<Space, Count>;
  std::map<Key, Piece> pieces_;  // by target; they do not overlap
};

}  // namespace tutti::sched
