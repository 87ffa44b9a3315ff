// Linear reduce-scatter: everyone sends each block straight to its owner, which folds
// outwards from its own: the ranks below from the left, those above from the right.
//
//   messages  p-1 per rank                volume  n(p-1)/p        folds  n(p-1)/p
//   needs     nothing                             good for  operations that do not commute
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_scatter_linear(Builder& b, const RankTeam& team, const Blocks& block) {
  const int me = team.rank();
  for (int k = 1; k < team.size(); ++k) {
    const int right = team.after(me, k);
    b.send(block[right], team.at(right));
  }
  for (int below = me - 1; below >= 0; --below)
    b.recv_reduce(block[me], team.at(below), kReceivedFirst);
  for (int above = me + 1; above < team.size(); ++above)
    b.recv_reduce(block[me], team.at(above), kOwnFirst);
}

}  // namespace tutti::coll
