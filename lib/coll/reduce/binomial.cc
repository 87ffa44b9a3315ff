// Binomial reduction: every rank folds what its children send, smallest subtree first,
// and passes the sum to its parent.
//
// A child stands for the ranks just after those already folded, so counted from the
// root the order is kept; with a root other than 0 that is not the order of ranks.
//
//   messages  p-1 in all, log p deep      volume  n a link    folds  n log p at the root
//   needs     a commutative operation             good for  short vectors
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_binomial(Builder& b, const RankTeam& team, int root, Slice data) {
  const BinomialTree tree(team, root);
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    b.recv_reduce(data, child->rank, kOwnFirst);
  if (tree.parent >= 0) b.send(data, tree.parent);
}

}  // namespace tutti::coll
