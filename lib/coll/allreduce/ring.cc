// Ring allreduce: a reduce-scatter around the ring, then an allgather around it.
//
// The data are cut in p blocks. In step k of the first phase rank r passes block r-k
// to its right and folds block r-k-1, arriving from its left, into its own copy;
// after p-1 steps block r+1 is complete on rank r. The second phase passes the
// complete blocks around once more.
//
//   messages  2(p-1) per rank        volume  2n(p-1)/p        folds  n(p-1)/p
//   needs     a commutative operation             good for  long vectors
#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_ring(Builder& b, const RankTeam& team, Slice data) {
  const int p = team.size();
  const Blocks block(data, p);
  const Ring ring(team);
  for (int k = 0; k < p - 1; ++k) {  // reduce-scatter
    b.send(block[ring.back(k)], ring.right());
    b.recv_reduce(block[ring.back(k + 1)], ring.left());
  }
  for (int k = 0; k < p - 1; ++k) {  // allgather
    b.send(block[ring.back(k - 1)], ring.right());
    b.recv(block[ring.back(k)], ring.left());
  }
}

}  // namespace tutti::coll
