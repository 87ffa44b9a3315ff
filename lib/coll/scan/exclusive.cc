// Exclusive scans: everyone hands its vector to the next rank, and the ranks after the
// first scan what they were handed.
//
//   messages  one more than the scan behind it    needs  nothing
#include "coll/emitters.h"

namespace tutti::coll {
namespace {

void shifted(Builder& b, const RankTeam& team, Slice data, WholeEmitter* scan) {
  const int rank = team.rank();
  if (rank < team.size() - 1) b.send(data, team.at(rank + 1));
  if (rank == 0) return;
  const Slice handed = b.scratch(data.count);
  b.recv(handed, team.at(rank - 1));
  std::vector<int> others;
  for (int i = 1; i < team.size(); ++i) others.push_back(team.at(i));
  scan(b, RankTeam(std::move(others), rank - 1), handed);
  b.copy(handed, data);
}

}  // namespace

void exscan_recursive_doubling(Builder& b, const RankTeam& team, Slice data) {
  shifted(b, team, data, scan_recursive_doubling);
}

void exscan_linear(Builder& b, const RankTeam& team, Slice data) {
  shifted(b, team, data, scan_linear);
}

}  // namespace tutti::coll
