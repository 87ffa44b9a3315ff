// Recursive doubling scan: after round k each rank holds the fold of the 2^k ranks that end
// with it, and passes it 2^k to the right.
//
//   messages  log p per rank              volume  n log p         folds  n log p
//   needs     nothing                             good for  short vectors, many ranks
#include "coll/emitters.h"

namespace tutti::coll {

void scan_recursive_doubling(Builder& b, const RankTeam& team, Slice data) {
  for (int distance = 1; distance < team.size(); distance *= 2) {
    const int right = team.rank() + distance;
    const int left = team.rank() - distance;
    if (right < team.size()) b.send(data, team.at(right));
    if (left >= 0) b.recv_reduce(data, team.at(left));
  }
}

}  // namespace tutti::coll
