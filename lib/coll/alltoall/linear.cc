// Linear alltoall: all receives are posted in rank order, then all sends.
//
//   messages  p-1 per rank                volume  each block once
//   needs     nothing                             good for  a few ranks
#include "coll/emitters.h"

namespace tutti::coll {

void alltoall_linear(Builder& b, const RankTeam& team, const Blocks& from, const Blocks& into) {
  const int me = team.rank();
  b.copy(from[me], into[me]);
  for (int peer = 0; peer < team.size(); ++peer)
    if (peer != me) b.recv(into[peer], team.at(peer));
  for (int peer = 0; peer < team.size(); ++peer)
    if (peer != me) b.send(from[peer], team.at(peer));
}

}  // namespace tutti::coll
