// K-nomial reduction: as the binomial one with k-1 children a level.
//
//   messages  p-1 in all, log_k p deep    volume  n(k-1) log_k p into the root
//   needs     a commutative operation             good for  short vectors, quick receivers
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_knomial(Builder& b, const RankTeam& team, int root, Slice data) {
  const KnomialTree tree(team, root, kRadix);
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    b.recv_reduce(data, child->rank, kOwnFirst);
  if (tree.parent >= 0) b.send(data, tree.parent);
}

}  // namespace tutti::coll
