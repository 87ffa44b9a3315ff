// Double-tree broadcast: each half of the message goes down its own binary tree, and
// whoever is inside one tree is a leaf of the other, so everyone sends about what it
// receives. Segments keep all levels busy.
//
//   messages  2 log p deep                volume  n in and n out per rank
//   needs     nothing                             good for  long messages, many ranks
#include "coll/emitters.h"

namespace tutti::coll {

void bcast_double_tree(Builder& b, const RankTeam& team, int root, Slice data) {
  const DoubleTree trees(team, root);
  const Blocks half(data, 2);
  for (int i = 0; i < 2; ++i) {
    const auto& tree = trees.halves[i];
    if (tree.parent >= 0) b.recv(half[i], tree.parent);
    for (const int child : tree.children) b.send(half[i], child);
  }
}

}  // namespace tutti::coll
