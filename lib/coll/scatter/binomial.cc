// Binomial scatter: every rank gets the blocks of its subtree and passes on those of its
// children; the binomial gather backwards.
//
//   messages  log p deep                  volume  up to log p times each block
//   needs     equal blocks                        good for  short blocks
#include "coll/emitters.h"

namespace tutti::coll {

void scatter_binomial(Builder& b, const RankTeam& team, int root, const Blocks& all, Slice own) {
  const BinomialTree tree(team, root);
  if (tree.parent < 0) {
    for (const auto& child : tree.children)
      for (const Slice& run : wrapped(all, team.after(root, child.position), child.span))
        b.send(run, child.rank);
    return b.copy(all[root], own);
  }
  const Slice mine = tree.span == 1 ? own : b.scratch(own.count * tree.span);
  Count received = 0;
  if (tree.parent != team.at(root)) {
    b.recv(mine, tree.parent);
  } else {
    for (const Slice& run : wrapped(all, team.rank(), tree.span)) {
      b.recv(mine.part(received, run.count), tree.parent);
      received += run.count;
    }
  }
  for (const auto& child : tree.children)
    b.send(mine.part(own.count * (child.position - tree.position), own.count * child.span),
           child.rank);
  b.copy(mine.part(0, own.count), own);
}

}  // namespace tutti::coll
