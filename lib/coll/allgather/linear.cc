// Linear allgather: everyone sends its block to everyone, all at once.
//
//   messages  p-1 per rank                volume  n(p-1)/p        blocks  of any size
//   needs     nothing                             good for  a few ranks
#include "coll/emitters.h"

namespace tutti::coll {

void allgather_linear(Builder& b, const RankTeam& team, const Blocks& block) {
  for (int k = 1; k < team.size(); ++k) {
    const int to = team.after(team.rank(), k);
    const int from = team.after(team.rank(), -k);
    b.send(block[team.rank()], team.at(to));
    b.recv(block[from], team.at(from));
  }
}

}  // namespace tutti::coll
