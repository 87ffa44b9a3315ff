// Linear gather: everyone sends its block to the root.
//
//   messages  p-1 into the root           volume  each block once
//   needs     nothing                             good for  long blocks, blocks of any size
#include "coll/emitters.h"

namespace tutti::coll {

void gather_linear(Builder& b, const RankTeam& team, int root, const Blocks& all, Slice own) {
  if (team.rank() != root) return b.send(own, team.at(root));
  b.copy(own, all[root]);
  for (int k = 1; k < team.size(); ++k) {
    const int from = team.after(root, k);
    b.recv(all[from], team.at(from));
  }
}

}  // namespace tutti::coll
