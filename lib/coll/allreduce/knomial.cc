// K-nomial allreduce: a reduction up a flat tree to the first rank, then a broadcast
// down it.
//
//   messages  2(k-1) log_k p at the first rank    volume  2n a link
//   needs     nothing (the tree starts at rank 0)   good for  short vectors, quick links
#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_knomial(Builder& b, const RankTeam& team, Slice data) {
  reduce_knomial(b, team, 0, data);
  bcast_knomial(b, team, 0, data);
}

}  // namespace tutti::coll
