// Two levels: inside each host first, then between one leader a host, then inside again.
//
// Ranks of a host need not be consecutive. Between hosts each byte travels once a leader
// instead of once a rank; segments of a long message fill all three stages at a time.
//
//   messages  those of the parts          needs  the host of every rank
//   good for  several ranks a host and links between hosts slower than those inside
#include "coll/emitters.h"

namespace tutti::coll {

void allreduce_two_level(Builder& b, const RankTeam& team, Slice data) {
  const TeamHosts hosts(team);
  reduce_binomial(b, hosts.local(), 0, data);
  if (hosts.is_leader()) allreduce_recursive_doubling(b, hosts.leaders(), data);
  bcast_binomial(b, hosts.local(), 0, data);
}

void allreduce_two_level_ring(Builder& b, const RankTeam& team, Slice data) {
  const TeamHosts hosts(team);
  reduce_binomial(b, hosts.local(), 0, data);
  if (hosts.is_leader()) allreduce_ring(b, hosts.leaders(), data);
  bcast_binomial(b, hosts.local(), 0, data);
}

void bcast_two_level(Builder& b, const RankTeam& team, int root, Slice data) {
  const TeamHosts hosts(team, root);
  if (hosts.is_leader()) bcast_binomial(b, hosts.leaders(), hosts.root_host(), data);
  bcast_binomial(b, hosts.local(), hosts.local_leader(), data);
}

void reduce_two_level(Builder& b, const RankTeam& team, int root, Slice data) {
  const TeamHosts hosts(team, root);
  reduce_binomial(b, hosts.local(), hosts.local_leader(), data);
  if (hosts.is_leader()) reduce_binomial(b, hosts.leaders(), hosts.root_host(), data);
}

Slice barrier_two_level(Builder& b, const RankTeam& team, Slice entered) {
  const TeamHosts hosts(team);
  const RankTeam& local = hosts.local();
  const Slice release = b.scratch(1);
  if (!hosts.is_leader()) {
    b.send(entered, local.at(0));
    b.recv(release, local.at(0));
    return release;
  }
  const Slice heard = b.scratch(local.size());
  const Slice here = b.scratch(local.size());
  b.copy(entered, heard.part(0, 1));
  for (int i = 1; i < local.size(); ++i) b.recv(heard.part(i, 1), local.at(i));
  b.copy(heard, here);
  const Slice all = barrier_dissemination(b, hosts.leaders(), here.part(0, 1));
  bcast_linear(b, local, 0, all);
  return all;
}

}  // namespace tutti::coll
