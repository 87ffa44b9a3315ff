// Binomial broadcast: whoever has the message passes it on, deepest subtree first, so
// the number of ranks that have it doubles in every round.
//
//   messages  p-1 in all, log p deep      volume  n a link, n log p out of the root
//   needs     nothing                             good for  short messages
#include "coll/emitters.h"

namespace tutti::coll {

void bcast_binomial(Builder& b, const RankTeam& team, int root, Slice data) {
  const BinomialTree tree(team, root);
  if (tree.parent >= 0) b.recv(data, tree.parent);
  for (const auto& child : tree.children) b.send(data, child.rank);
}

}  // namespace tutti::coll
