// Recursive doubling allgather: partners at distance 1, 2, 4 ... swap all they have, which
// is always one run of blocks.
//
// Teams that are not a power of two are folded: who stands aside hands over its block
// first and gets everything at the end.
//
//   messages  log p per rank              volume  n(p-1)/p        blocks  of any size
//   needs     nothing                             good for  short blocks
#include "coll/emitters.h"

namespace tutti::coll {

void allgather_recursive_doubling(Builder& b, const RankTeam& team, const Blocks& block) {
  const PowerOfTwoFold fold(team);
  const Slice whole = block.range(0, team.size());
  if (fold.stands_aside()) {
    b.send(block[team.rank()], fold.mate());
    b.recv(whole, fold.mate());
    return;
  }
  if (fold.works_for_two()) b.recv(block[team.rank() - 1], fold.mate());
  for (int bit = 1; bit < fold.size(); bit *= 2) {
    const int mine = fold.index() / bit * bit;  // first worker of the run I have
    const int theirs = mine ^ bit;
    const auto run = [&](int index) {
      return block.range(fold.first_member(index), fold.first_member(index + bit));
    };
    b.send(run(mine), fold.at(fold.index() ^ bit));
    b.recv(run(theirs), fold.at(fold.index() ^ bit));
  }
  if (fold.works_for_two()) b.send(whole, fold.mate());
}

}  // namespace tutti::coll
