// Chain reduction: from the rank farthest along the circle each folds its own vector
// to what comes in and passes it on, cut in segments, until it reaches the root.
//
//   messages  1 per rank and segment, p-1 deep    volume  n per rank
//   needs     a commutative operation             good for  very long vectors, few ranks
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_chain(Builder& b, const RankTeam& team, int root, Slice data) {
  const Chain chain(team, root);
  if (chain.next >= 0) b.recv_reduce(data, chain.next, kOwnFirst);
  if (chain.previous >= 0) b.send(data, chain.previous);
}

}  // namespace tutti::coll
