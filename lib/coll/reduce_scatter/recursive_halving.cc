// Recursive halving reduce-scatter: partners far apart first swap the halves they do not
// keep and fold, until every rank holds its own block.
//
// Teams that are not a power of two are folded; who stands aside hands over its vector
// and gets its block back.
//
//   messages  log p per rank              volume  n(p-1)/p        folds  n(p-1)/p
//   needs     a commutative operation             good for  vectors of middle length
#include "coll/emitters.h"

namespace tutti::coll {

void reduce_scatter_recursive_halving(Builder& b, const RankTeam& team, const Blocks& block) {
  const PowerOfTwoFold fold(team);
  const int me = team.rank();
  if (fold.stands_aside()) {
    b.send(block.whole(), fold.mate());
    b.recv(block[me], fold.mate());
    return;
  }
  if (fold.works_for_two()) b.recv_reduce(block.whole(), fold.mate());
  const auto run = [&](Halving::Range range) {
    return block.range(fold.first_member(range.first), fold.first_member(range.last));
  };
  const Halving halving(fold, Halving::Start::farthest);
  for (const auto& round : halving.rounds) {
    b.send(run(round.give), round.partner);
    b.recv_reduce(run(round.keep), round.partner, round.partner_first);
  }
  if (fold.works_for_two()) b.send(block[me - 1], fold.mate());
}

}  // namespace tutti::coll
