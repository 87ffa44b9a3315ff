// Binomial gather: every rank collects the blocks of its subtree and passes them on.
//
// A subtree is a run of ranks counted from the root, so its blocks are one message; at
// the root, where they stand by rank, a run that passes the last rank is two.
//
//   messages  log p deep                  volume  up to log p times each block
//   needs     equal blocks                        good for  short blocks
#include "coll/emitters.h"

namespace tutti::coll {

void gather_binomial(Builder& b, const RankTeam& team, int root, const Blocks& all, Slice own) {
  const BinomialTree tree(team, root);
  if (tree.parent < 0) {
    b.copy(own, all[root]);
    for (const auto& child : tree.children)
      for (const Slice& run : wrapped(all, team.after(root, child.position), child.span))
        b.recv(run, child.rank);
    return;
  }
  const Slice mine = tree.span == 1 ? own : b.scratch(own.count * tree.span);
  b.copy(own, mine.part(0, own.count));
  for (const auto& child : tree.children)
    b.recv(mine.part(own.count * (child.position - tree.position), own.count * child.span),
           child.rank);
  if (tree.parent != team.at(root)) return b.send(mine, tree.parent);
  Count sent = 0;
  for (const Slice& run : wrapped(all, team.rank(), tree.span)) {
    b.send(mine.part(sent, run.count), tree.parent);
    sent += run.count;
  }
}

}  // namespace tutti::coll
