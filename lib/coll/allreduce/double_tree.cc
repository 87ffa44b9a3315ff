// Double-tree allreduce: each half of the vector is folded up its own binary tree and
// goes down the same tree again; segments on their way down meet later ones going up.
//
//   messages  4 log p deep                volume  2n in and 2n out per rank
//   needs     a commutative operation             good for  long vectors, many ranks
#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_double_tree(Builder& b, const RankTeam& team, Slice data) {
  reduce_double_tree(b, team, 0, data);
  bcast_double_tree(b, team, 0, data);
}

}  // namespace tutti::coll
