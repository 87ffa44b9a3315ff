// Tree allreduce: a reduction to the first rank, then a broadcast from it.
//
// Both walk the same binomial tree. Segments of a long vector travel down while later
// ones still travel up.
//
//   messages  2 log p at the first rank   volume  2n a link   folds  n log p there
//   needs     nothing (the tree starts at rank 0)   good for  short vectors, many ranks
#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_binomial(Builder& b, const RankTeam& team, Slice data) {
  reduce_binomial(b, team, 0, data);
  bcast_binomial(b, team, 0, data);
}

}  // namespace tutti::coll
