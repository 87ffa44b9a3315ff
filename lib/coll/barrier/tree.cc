// Tree barrier: signals gather up a binomial tree to the first rank and a release comes
// back down it.
//
//   messages  2(p-1) in all, one byte each; 2 log p deep
//   needs     nothing                             good for  few cores, slow links
#include "coll/emitters.h"

namespace tutti::coll {

Slice barrier_tree(Builder& b, const RankTeam& team, Slice entered) {
  const BinomialTree tree(team, 0);
  const auto children = static_cast<Count>(tree.children.size());
  const Slice heard = b.scratch(children + 1);
  const Slice all = b.scratch(children + 1);
  b.copy(entered, heard.part(0, 1));
  for (Count i = 0; i < children; ++i)
    b.recv(heard.part(i + 1, 1), tree.children[static_cast<std::size_t>(i)].rank);
  b.copy(heard, all);
  const Slice signal = all.part(0, 1);
  if (tree.parent < 0) {
    bcast_binomial(b, team, 0, signal);
    return signal;
  }
  b.send(signal, tree.parent);
  const Slice release = b.scratch(1);
  bcast_binomial(b, team, 0, release);
  return release;
}

}  // namespace tutti::coll
