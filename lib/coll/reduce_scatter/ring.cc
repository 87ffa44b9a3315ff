// Ring reduce-scatter: block r-1-k leaves rank r in step k, folded with what came before;
// after p-1 steps each block has gone once around and ends at its owner.
//
//   messages  p-1 per rank                volume  n(p-1)/p        folds  n(p-1)/p
//   needs     a commutative operation             good for  long vectors
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_scatter_ring(Builder& b, const RankTeam& team, const Blocks& block) {
  const Ring ring(team);
  for (int k = 1; k < team.size(); ++k) {
    b.send(block[ring.back(k)], ring.right());
    b.recv_reduce(block[ring.back(k + 1)], ring.left());
  }
}

}  // namespace tutti::coll
