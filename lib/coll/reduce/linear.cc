// Linear reduction: everyone sends to the root, which folds outwards from its own
// vector: the ranks below it from the left, then those above it from the right.
//
//   messages  p-1 into the root           volume  n(p-1) into the root, folds n(p-1)
//   needs     nothing                             good for  a few ranks
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_linear(Builder& b, const RankTeam& team, int root, Slice data) {
  if (team.rank() != root) return b.send(data, team.at(root));
  for (int below = root - 1; below >= 0; --below)
    b.recv_reduce(data, team.at(below), kReceivedFirst);
  for (int above = root + 1; above < team.size(); ++above)
    b.recv_reduce(data, team.at(above), kOwnFirst);
}

}  // namespace tutti::coll
