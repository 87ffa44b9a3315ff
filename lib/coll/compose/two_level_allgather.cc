// Two-level allgather: blocks gather at the leader of each host, the leaders exchange the
// blocks of whole hosts, and each leader hands all of them to its host.
//
// Blocks of a host must stand together to be one message. Where the ranks of hosts are
// consecutive they do so in `out`; else everything passes through scratch, ordered by host,
// and is put in place at the end.
//
//   messages  those of the parts          volume  n a leader between hosts
//   needs     the host of every rank              good for  several ranks a host
#include "coll/emitters.h"

namespace tutti::coll {
namespace {

bool is_consecutive(const TeamHosts& hosts) {
  int next = 0;
  for (int host = 0; host < hosts.count(); ++host)
    for (const int member : hosts.members(host))
      if (member != next++) return false;
  return true;
}

}  // namespace

void allgather_two_level(Builder& b, const RankTeam& team, const Blocks& block) {
  const TeamHosts hosts(team);
  const bool direct = is_consecutive(hosts);
  const Slice packed = direct ? block.whole() : b.scratch(block.whole().count);
  std::vector<Count> by_rank(static_cast<std::size_t>(team.size()));  // place of each block
  std::vector<Count> of_host;
  Count place = 0;
  for (int host = 0; host < hosts.count(); ++host) {
    const Count start = place;
    for (const int member : hosts.members(host)) {
      by_rank[static_cast<std::size_t>(member)] = place;
      place += block[member].count;
    }
    of_host.push_back(place - start);
  }
  const auto packed_block = [&](int member) {
    return packed.part(by_rank[static_cast<std::size_t>(member)], block[member].count);
  };
  const RankTeam& local = hosts.local();
  if (!hosts.is_leader()) b.send(block[team.rank()], local.at(0));
  if (hosts.is_leader()) {
    b.copy(block[team.rank()], packed_block(team.rank()));
    for (int i = 1; i < local.size(); ++i)
      b.recv(packed_block(hosts.members(hosts.my_host())[static_cast<std::size_t>(i)]),
             local.at(i));
    allgather_ring(b, hosts.leaders(), Blocks(packed, of_host));
  }
  bcast_binomial(b, local, 0, packed);
  for (int member = 0; member < team.size(); ++member)
    if (member != team.rank()) b.copy(packed_block(member), block[member]);
}

}  // namespace tutti::coll
