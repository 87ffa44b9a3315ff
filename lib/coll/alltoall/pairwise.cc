// Pairwise exchange: in step k everyone sends to the rank k to its right and receives from
// the one k to its left, so no rank is the target of two at a time.
//
//   messages  p-1 per rank                volume  each block once
//   needs     nothing                             good for  long blocks, blocks of any size
#include "coll/emitters.h"

namespace tutti::coll {

void alltoall_pairwise(Builder& b, const RankTeam& team, const Blocks& from, const Blocks& into) {
  b.copy(from[team.rank()], into[team.rank()]);
  for (int k = 1; k < team.size(); ++k) {
    const int right = team.after(team.rank(), k);
    const int left = team.after(team.rank(), -k);
    b.send(from[right], team.at(right));
    b.recv(into[left], team.at(left));
  }
}

}  // namespace tutti::coll
