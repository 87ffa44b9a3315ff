// Ring allgather: in every step each rank passes the block it got last to its right.
//
//   messages  p-1 per rank                volume  n(p-1)/p        blocks  of any size
//   needs     nothing                             good for  long blocks
#include "coll/emitters.h"

namespace tutti::coll {

void allgather_ring(Builder& b, const RankTeam& team, const Blocks& block) {
  const Ring ring(team);
  for (int k = 0; k < team.size() - 1; ++k) {
    b.send(block[ring.back(k)], ring.right());
    b.recv(block[ring.back(k + 1)], ring.left());
  }
}

}  // namespace tutti::coll
