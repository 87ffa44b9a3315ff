// Linear scatter: the root sends everyone its block.
//
//   messages  p-1 out of the root         volume  each block once
//   needs     nothing                             good for  long blocks, blocks of any size
#include "coll/emitters.h"

namespace tutti::coll {

void scatter_linear(Builder& b, const RankTeam& team, int root, const Blocks& all, Slice own) {
  if (team.rank() != root) return b.recv(own, team.at(root));
  for (int k = 1; k < team.size(); ++k) {
    const int to = team.after(root, k);
    b.send(all[to], team.at(to));
  }
  b.copy(all[root], own);
}

}  // namespace tutti::coll
