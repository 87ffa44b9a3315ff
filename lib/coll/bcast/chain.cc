// Chain broadcast: the message runs through the ranks one after another, cut in
// segments, so all links carry a segment at the same time.
//
//   messages  1 per rank and segment, p-1 deep    volume  n per rank
//   needs     nothing                             good for  very long messages, few ranks
#include "coll/emitters.h"

namespace tutti::coll {

void bcast_chain(Builder& b, const RankTeam& team, int root, Slice data) {
  const Chain chain(team, root);
  if (chain.previous >= 0) b.recv(data, chain.previous);
  if (chain.next >= 0) b.send(data, chain.next);
}

}  // namespace tutti::coll
