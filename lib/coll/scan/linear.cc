// Linear scan: each rank waits for the prefix of the one before it, folds its own vector to
// it and passes the result on.
//
//   messages  1 per rank, p-1 deep        volume  n per rank
//   needs     nothing                             good for  a few ranks, very long vectors
#include "coll/emitters.h"

namespace tutti::coll {

void scan_linear(Builder& b, const RankTeam& team, Slice data) {
  if (team.rank() > 0) b.recv_reduce(data, team.at(team.rank() - 1));
  if (team.rank() < team.size() - 1) b.send(data, team.at(team.rank() + 1));
}

}  // namespace tutti::coll
