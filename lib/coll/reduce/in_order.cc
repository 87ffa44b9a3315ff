// Reduction in order: the binomial tree over ranks 0 .. p-1, whatever the root is, so
// that every fold joins neighbouring runs of ranks; the first rank hands the result to
// the root.
//
//   messages  p in all, log p + 1 deep    volume  n a link
//   needs     nothing                             good for  operations that do not commute
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_in_order(Builder& b, const RankTeam& team, int root, Slice data) {
  reduce_binomial(b, team, 0, data);
  if (root == 0) return;
  if (team.rank() == 0) b.send(data, team.at(root));
  if (team.rank() == root) b.recv(data, team.at(0));
}

}  // namespace tutti::coll
