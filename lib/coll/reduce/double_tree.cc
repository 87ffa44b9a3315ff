// Double-tree reduction: the double-tree broadcast backwards; each half of the vector
// is folded up its own tree.
//
//   messages  2 log p deep                volume  n in and n out per rank
//   needs     a commutative operation             good for  long vectors, many ranks
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_double_tree(Builder& b, const RankTeam& team, int root, Slice data) {
  const DoubleTree trees(team, root);
  const Blocks half(data, 2);
  for (int i = 0; i < 2; ++i) {
    const auto& tree = trees.halves[i];
    for (const int child : tree.children) b.recv_reduce(half[i], child);
    if (tree.parent >= 0) b.send(half[i], tree.parent);
  }
}

}  // namespace tutti::coll
