// Bruck's allgather: in round k everyone sends all the blocks it has to the rank 2^k to
// its left, so what each has doubles.
//
// A rank has the blocks from its own on, counted around the end. They stay where they
// belong; a run that passes the last block is sent in two pieces, and both sides know it.
//
//   messages  log p (at most 2 a round)   volume  n(p-1)/p        blocks  of any size
//   needs     nothing                             good for  short blocks
#include <algorithm>

#include "coll/emitters.h"

namespace tutti::coll {

void allgather_bruck(Builder& b, const RankTeam& team, const Blocks& block) {
  const int p = team.size();
  for (int have = 1; have < p; have *= 2) {
    const int more = std::min(have, p - have);
    const int left = team.after(team.rank(), -have);
    const int right = team.after(team.rank(), have);
    for (const Slice& run : wrapped(block, team.rank(), more)) b.send(run, team.at(left));
    for (const Slice& run : wrapped(block, right, more)) b.recv(run, team.at(right));
  }
}

}  // namespace tutti::coll
