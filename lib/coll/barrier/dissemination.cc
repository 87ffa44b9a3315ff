// Dissemination barrier: in round k every rank signals the one 2^k to its right and
// hears from the one 2^k to its left; after log p rounds everyone has heard of all.
//
// A signal of round k says "I heard everything of the rounds before", so it must wait
// for all of them: it is a byte copied out of the signals that came in so far.
//
//   messages  log p per rank, one byte each       needs  nothing
//   good for  any number of ranks
#include "coll/emitters.h"

namespace tutti::coll {

Slice barrier_dissemination(Builder& b, const RankTeam& team, Slice entered) {
  const int p = team.size();
  int rounds = 0;
  while ((1 << rounds) < p) ++rounds;
  const Slice heard = b.scratch(rounds + 1);  // what came in: my own entry, then each round's
  b.copy(entered, heard.part(0, 1));
  Slice all = entered;
  for (int k = 0; k < rounds; ++k) {
    b.send(all.part(0, 1), team.at(team.after(team.rank(), 1 << k)));
    b.recv(heard.part(k + 1, 1), team.at(team.after(team.rank(), -(1 << k))));
    all = b.scratch(k + 2);
    b.copy(heard.part(0, k + 2), all);
  }
  return all.part(0, 1);
}

}  // namespace tutti::coll
