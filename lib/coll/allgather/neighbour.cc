// Neighbour-exchange allgather: pairs of neighbours swap, alternating left and right, two
// blocks at a time, in half as many rounds as the ring.
//
// Even ranks begin with the right neighbour, odd ones with the left. After the first swap
// everyone passes on the pair of blocks that it got in the round before. An odd number of
// ranks has no such pairing and takes the ring.
//
//   messages  p/2 per rank                volume  n(p-1)/p        blocks  of any size
//   needs     nothing                             good for  long blocks, even p
#include "coll/emitters.h"

namespace tutti::coll {

void allgather_neighbour(Builder& b, const RankTeam& team, const Blocks& block) {
  const int p = team.size();
  if (p % 2 != 0) return allgather_ring(b, team, block);
  const int rank = team.rank();
  const int way = rank % 2 == 0 ? 1 : -1;  // where the first partner is
  const int first = team.after(rank, way);
  b.send(block[rank], team.at(first));
  b.recv(block[first], team.at(first));
  const auto pair = [&](int index) { return block.range(index, index + 2); };
  int newest = rank - rank % 2;  // first block of the pair that is passed on next
  for (int round = 1; round < p / 2; ++round) {
    const int step = round % 2 == 0 ? way : -way;
    const int partner = team.at(team.after(rank, step));
    // The partner's side moves away from me two blocks every second round.
    const int coming = team.after(rank - rank % 2, step * 2 * ((round + 1) / 2));
    b.send(pair(newest), partner);
    b.recv(pair(coming), partner);
    newest = coming;
  }
}

}  // namespace tutti::coll
