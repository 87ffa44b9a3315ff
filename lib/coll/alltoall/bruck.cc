// Bruck's alltoall: log p rounds of long messages instead of p-1 short ones.
//
// A block that must travel distance d goes 2^k to the right in every round k whose bit is
// set in d. Slot d of `on_way` holds the block that still has to reach, or has come from,
// distance d; each round packs the slots that move, and unpacks what comes into the same.
//
//   messages  log p per rank              volume  (n/2) log p, packed and unpacked
//   needs     equal blocks                        good for  short blocks, many ranks
#include "coll/emitters.h"

namespace tutti::coll {

void alltoall_bruck(Builder& b, const RankTeam& team, const Blocks& from, const Blocks& into) {
  const int p = team.size();
  const int rank = team.rank();
  const Slice own = from[rank];
  const Blocks on_way(b.scratch(own.count * p), p);
  for (int d = 1; d < p; ++d) b.copy(from[team.after(rank, d)], on_way[d]);
  for (int bit = 1; bit < p; bit *= 2) {
    int moving = 0;
    for (int d = bit; d < p; ++d) moving += (d & bit) != 0 ? 1 : 0;
    const Slice packed = b.scratch(own.count * moving);
    const Slice arrived = b.scratch(own.count * moving);
    int next = 0;
    for (int d = bit; d < p; ++d)
      if ((d & bit) != 0) b.copy(on_way[d], packed.part(own.count * next++, own.count));
    b.send(packed, team.at(team.after(rank, bit)));
    b.recv(arrived, team.at(team.after(rank, -bit)));
    next = 0;
    for (int d = bit; d < p; ++d)
      if ((d & bit) != 0) b.copy(arrived.part(own.count * next++, own.count), on_way[d]);
  }
  b.copy(own, into[rank]);
  for (int d = 1; d < p; ++d) b.copy(on_way[d], into[team.after(rank, -d)]);
}

}  // namespace tutti::coll
