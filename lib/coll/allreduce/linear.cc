// Linear allreduce: everyone sends to the first rank, which folds in rank order and
// sends the result to everyone.
//
//   messages  2(p-1) at the first rank    volume  2n(p-1) there
//   needs     nothing                             good for  a few ranks
#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_linear(Builder& b, const RankTeam& team, Slice data) {
  reduce_linear(b, team, 0, data);
  bcast_linear(b, team, 0, data);
}

}  // namespace tutti::coll
