// Reorder: who talks much ends up near, and what was good already stays.
#include <numeric>
#include <set>

#include "comm/comm.h"
#include "comm/create.h"
#include "comm/locality.h"
#include "ranks.h"

namespace {

using namespace tutti;
using comm::Edge;
using comm::Locality;
using test::Rank;

// Ranks on hosts, otherwise free to move.
std::vector<Locality> on_hosts(const std::vector<int>& hosts) {
  std::vector<Locality> made;
  for (const int host : hosts) made.push_back({{host, -1, -1, -1, -1, -1}});
  return made;
}

int crossing(const std::vector<Edge>& edges, const std::vector<int>& order,
             const std::vector<int>& hosts) {
  const auto host = [&](int node) {
    return hosts[static_cast<std::size_t>(order[static_cast<std::size_t>(node)])];
  };
  int weight = 0;
  for (const Edge& edge : edges)
    if (host(edge.from) != host(edge.to)) weight += edge.weight;
  return weight;
}

}  // namespace

TEST_CASE("pairs that talk much are put on one host", "[comm][placement]") {
  const std::vector<int> hosts = {0, 1, 0, 1, 0, 1, 0, 1};
  const std::vector<Edge> pairs = {{0, 1, 9}, {2, 3, 9}, {4, 5, 9}, {6, 7, 9},
                                   {1, 2, 1}, {3, 4, 1}, {5, 6, 1}};
  const std::vector<int> order = comm::place_near(pairs, 8, on_hosts(hosts));
  CHECK(std::set<int>(order.begin(), order.end()).size() == 8);
  CHECK(crossing(pairs, order, hosts) == 1);
}

TEST_CASE("an order that is good already stays", "[comm][placement]") {
  const std::vector<int> hosts = {0, 0, 0, 1, 1, 1};
  const std::vector<Edge> ring = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}, {4, 5, 1}, {5, 0, 1}};
  std::vector<int> same(6);
  std::iota(same.begin(), same.end(), 0);
  CHECK(comm::place_near(ring, 6, on_hosts(hosts)) == same);
}

TEST_CASE("inside a host, who talks much shares a cache", "[comm][placement]") {
  std::vector<Locality> where;
  for (const int l3 : {0, 1, 0, 1}) where.push_back({{0, 0, 0, l3, -1, -1}});
  const std::vector<Edge> pairs = {{0, 1, 5}, {2, 3, 5}};
  const std::vector<int> order = comm::place_near(pairs, 4, where);
  const auto cache = [&](std::size_t node) {
    return where[static_cast<std::size_t>(order[node])].on(comm::Level::l3);
  };
  CHECK(cache(0) == cache(1));
  CHECK(cache(2) == cache(3));
}

TEST_CASE("a reordered graph has its neighbours on one host", "[comm][placement][hosts]") {
  const std::vector<int> hosts = {0, 1, 0, 1};
  test::run_ranks(hosts, [&hosts](const Rank& me) {
    comm::Topology mine;  // 0 and 1 talk, 2 and 3 do
    mine.shape = comm::Topology::Shape::adjacent;
    mine.sources = mine.destinations = {me.rank ^ 1};
    mine.source_weights = mine.destination_weights = {1};
    const auto made = comm::create_adjacent(me.comm, mine, true);
    me.expect(made.has_value(), "made");
    if (!made) return;
    const auto host = [&](int rank) {
      return hosts[static_cast<std::size_t>(
          (*made)->group().members()[static_cast<std::size_t>(rank)])];
    };
    me.expect(host((*made)->rank()) == host((*made)->rank() ^ 1), "my neighbour is here");
  });
}
