// Striped allreduce: the ranks of a host share the work between hosts, each for one stripe
// of the vector.
//
// Inside each host a pairwise reduce-scatter leaves stripe i at local rank i; the ranks of
// equal local index join their stripes between hosts; a ring inside each host collects
// them. There are as many stripes as the smallest host has ranks; others only contribute.
//
//   messages  L-1 + log h + L-1 per rank  volume  n/L between hosts per rank
//   needs     a commutative operation, the host of every rank
//   good for  long vectors, hosts with several ranks
#include <algorithm>

#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_striped(Builder& b, const RankTeam& team, Slice data) {
  const TeamHosts hosts(team);
  const RankTeam& local = hosts.local();
  std::size_t stripes = hosts.members(0).size();
  for (int host = 1; host < hosts.count(); ++host)
    stripes = std::min(stripes, hosts.members(host).size());
  const Blocks even(data, static_cast<int>(stripes));
  std::vector<Count> counts(static_cast<std::size_t>(local.size()), 0);
  for (std::size_t i = 0; i < stripes; ++i) counts[i] = even[static_cast<int>(i)].count;
  const Blocks stripe(data, counts);
  reduce_scatter_pairwise(b, local, stripe);
  if (static_cast<std::size_t>(local.rank()) < stripes) {
    std::vector<int> peers;
    for (int host = 0; host < hosts.count(); ++host)
      peers.push_back(team.at(hosts.members(host)[static_cast<std::size_t>(local.rank())]));
    allreduce_rabenseifner(b, RankTeam(std::move(peers), hosts.my_host()), stripe[local.rank()]);
  }
  allgather_ring(b, local, stripe);
}

}  // namespace tutti::coll
