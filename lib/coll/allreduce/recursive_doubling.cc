// Recursive doubling allreduce: in round k everyone exchanges all it has with the
// partner whose index differs in bit k, and both fold.
//
// Partners at distance 1, 2, 4 ... hold neighbouring runs of ranks, so the lower
// partner's operand always goes first and rank order is kept. Teams that are not a
// power of two are folded first: some ranks stand aside and get the result at the end.
//
//   messages  log p per rank         volume  n log p          folds  n log p
//   needs     nothing                             good for  short vectors
#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_recursive_doubling(Builder& b, const RankTeam& team, Slice data) {
  const PowerOfTwoFold fold(team);
  if (fold.stands_aside()) {
    b.send(data, fold.mate());
    b.recv(data, fold.mate());
    return;
  }
  if (fold.works_for_two()) b.recv_reduce(data, fold.mate());
  for (int bit = 1; bit < fold.size(); bit *= 2) {
    const int partner = fold.index() ^ bit;
    b.send(data, fold.at(partner));
    b.recv_reduce(data, fold.at(partner), partner < fold.index());
  }
  if (fold.works_for_two()) b.send(data, fold.mate());
}

}  // namespace tutti::coll
