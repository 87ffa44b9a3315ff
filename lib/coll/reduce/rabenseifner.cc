// Rabenseifner's reduction: recursive halving leaves every rank one complete block,
// and the same rounds backwards gather the blocks at the root.
//
// In each round backwards, of two partners the one that agrees with the root in the
// round's bit takes the other's range; the other is done.
//
//   messages  2 log p per rank            volume  2n(p-1)/p       folds  n(p-1)/p
//   needs     nothing                             good for  long vectors
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_rabenseifner(Builder& b, const RankTeam& team, int root, Slice data) {
  const PowerOfTwoFold fold(team);
  const int target = fold.worker_for(root);
  if (fold.stands_aside()) {
    b.send(data, fold.mate());
    if (team.rank() == root) b.recv(data, fold.mate());
    return;
  }
  if (fold.works_for_two()) b.recv_reduce(data, fold.mate());
  const Blocks block(data, fold.size());
  const Halving halving(fold, Halving::Start::nearest);
  for (const auto& round : halving.rounds) {
    b.send(block.range(round.give.first, round.give.last), round.partner);
    b.recv_reduce(block.range(round.keep.first, round.keep.last), round.partner,
                  round.partner_first);
  }
  for (auto round = halving.rounds.rbegin(); round != halving.rounds.rend(); ++round) {
    if (((fold.index() ^ target) & round->bit) != 0)
      return b.send(block.range(round->keep.first, round->keep.last), round->partner);
    b.recv(block.range(round->give.first, round->give.last), round->partner);
  }
  if (fold.works_for_two() && team.at(root) == fold.mate()) b.send(data, fold.mate());
}

}  // namespace tutti::coll
