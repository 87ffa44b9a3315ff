// Scatter-allgather broadcast: the root scatters p blocks down a binomial tree, then a
// ring collects them everywhere.
//
//   messages  log p + p-1 per rank        volume  2n(p-1)/p
//   needs     nothing                             good for  long messages
#include "coll/emitters.h"

namespace tutti::coll {

void bcast_scatter_allgather(Builder& b, const RankTeam& team, int root, Slice data) {
  const int p = team.size();
  const Blocks block(data, p);  // block i belongs to the one at position i from the root
  const BinomialTree tree(team, root);
  const Ring ring(team);
  if (tree.parent >= 0) b.recv(block.range(tree.position, tree.position + tree.span), tree.parent);
  for (const auto& child : tree.children)
    b.send(block.range(child.position, child.position + child.span), child.rank);
  for (int k = 0; k < p - 1; ++k) {
    b.send(block[team.after(tree.position, -k)], ring.right());
    b.recv(block[team.after(tree.position, -k - 1)], ring.left());
  }
}

}  // namespace tutti::coll
