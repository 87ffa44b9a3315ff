// Linear broadcast: the root sends to everyone.
//
//   messages  p-1 out of the root         volume  n(p-1) out of the root
//   needs     nothing                             good for  a few ranks
#include "coll/emitters.h"

namespace tutti::coll {

void bcast_linear(Builder& b, const RankTeam& team, int root, Slice data) {
  if (team.rank() != root) return b.recv(data, team.at(root));
  for (int k = 1; k < team.size(); ++k) b.send(data, team.at(team.after(root, k)));
}

}  // namespace tutti::coll
