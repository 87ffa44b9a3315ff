// Pairwise reduce-scatter: everyone sends each block straight to its owner, which folds
// what comes, from the rank to its left first.
//
//   messages  p-1 per rank                volume  n(p-1)/p        folds  n(p-1)/p
//   needs     a commutative operation             good for  blocks of any size
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_scatter_pairwise(Builder& b, const RankTeam& team, const Blocks& block) {
  const int me = team.rank();
  for (int k = 1; k < team.size(); ++k) {
    const int right = team.after(me, k);
    b.send(block[right], team.at(right));
    b.recv_reduce(block[me], team.at(team.after(me, -k)));
  }
}

}  // namespace tutti::coll
