// Rabenseifner's allreduce: recursive halving leaves every rank one complete block, and
// the same rounds backwards (recursive doubling) collect the blocks everywhere.
//
// The nearest partner comes first, so the longest messages stay inside hosts and folds
// join neighbouring runs of ranks.
//
//   messages  2 log p per rank            volume  2n(p-1)/p       folds  n(p-1)/p
//   needs     nothing                             good for  long vectors, many ranks
#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_rabenseifner(Builder& b, const RankTeam& team, Slice data) {
  const PowerOfTwoFold fold(team);
  if (fold.stands_aside()) {
    b.send(data, fold.mate());
    b.recv(data, fold.mate());
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
    b.send(block.range(round->keep.first, round->keep.last), round->partner);
    b.recv(block.range(round->give.first, round->give.last), round->partner);
  }
  if (fold.works_for_two()) b.send(data, fold.mate());
}

}  // namespace tutti::coll
