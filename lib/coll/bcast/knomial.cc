// K-nomial broadcast: as the binomial one, but whoever has the message passes it to
// k-1 others a round, so the tree is flatter.
//
//   messages  p-1 in all, log_k p deep    volume  n(k-1) log_k p out of the root
//   needs     nothing                             good for  short messages, quick senders
#include "coll/emitters.h"

namespace tutti::coll {

void bcast_knomial(Builder& b, const RankTeam& team, int root, Slice data) {
  const KnomialTree tree(team, root, kRadix);
  if (tree.parent >= 0) b.recv(data, tree.parent);
  for (const auto& child : tree.children) b.send(data, child.rank);
}

}  // namespace tutti::coll
