// Placing ranks so that heavy edges are short (MPI 5.0, 8.4: reorder).
//
// Places are ranks in the order of where they sit: host by host, package by package, and so on.
// Nodes are put on them one after another, always the one that talks most with those of the
// host that is being filled, so neighbours end up beside each other. The order that was there
// before stays unless the new one is better.
#include <algorithm>
#include <numeric>
#include <set>

#include "comm/comm.h"
#include "comm/locality.h"

namespace tutti::comm {
namespace {

using Weight = std::int64_t;
struct Half {
  int to;
  Weight weight;
};

class Arrangement {
 public:
  Arrangement(std::span<const Edge> edges, int nodes, std::span<const Locality> where)
      : where_(where), beside_(static_cast<std::size_t>(nodes)), placed_(beside_.size(), false) {
    for (const Edge& edge : edges) {
      if (edge.from == edge.to) continue;
      const Weight weight = std::max(1, edge.weight);
      at(edge.from).push_back({edge.to, weight});
      at(edge.to).push_back({edge.from, weight});
    }
  }

  // Who becomes which rank, out of places sorted by locality.
  std::vector<int> grow() {
    std::vector<int> places(where_.size());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) {
      return std::ranges::lexicographical_compare(where(a).at, where(b).at);
    });
    std::vector<int> order(beside_.size());
    for (std::size_t next = 0; next < order.size(); ++next) {
      const bool new_host = next == 0 || where(places[next]).on(Level::host) !=
                                             where(places[next - 1]).on(Level::host);
      if (new_host) forget_pull();
      order[static_cast<std::size_t>(take())] = places[next];
    }
    return order;
  }

  Weight cost(const std::vector<int>& order) const {
    Weight total = 0;
    for (std::size_t node = 0; node < beside_.size(); ++node)
      for (const Half& half : beside_[node])
        total += half.weight *
                 distance(where(order[node]), where(order[static_cast<std::size_t>(half.to)]));
    return total;
  }

 private:
  std::vector<Half>& at(int node) { return beside_[static_cast<std::size_t>(node)]; }
  const Locality& where(int rank) const { return where_[static_cast<std::size_t>(rank)]; }

  void forget_pull() {
    pull_.assign(beside_.size(), 0);
    pulled_.clear();
  }

  // The free node most pulled by this host's; the lowest when none is.
  int take() {
    int node = 0;
    if (!pulled_.empty()) {
      node = pulled_.begin()->second;
    } else {
      while (placed_[static_cast<std::size_t>(lowest_)]) ++lowest_;
      node = lowest_;
    }
    placed_[static_cast<std::size_t>(node)] = true;
    pulled_.erase({-pull_[static_cast<std::size_t>(node)], node});
    for (const Half& half : at(node)) {
      const auto to = static_cast<std::size_t>(half.to);
      if (placed_[to]) continue;
      pulled_.erase({-pull_[to], half.to});
      pull_[to] += half.weight;
      pulled_.insert({-pull_[to], half.to});
    }
    return node;
  }

  std::span<const Locality> where_;
  std::vector<std::vector<Half>> beside_;  // by node
  std::vector<bool> placed_;
  std::vector<Weight> pull_;
  std::set<std::pair<Weight, int>> pulled_;  // by falling pull, then number
  int lowest_ = 0;
};

}  // namespace

std::vector<int> place_near(std::span<const Edge> edges, int nodes,
                            std::span<const Locality> where) {
  std::vector<int> before(static_cast<std::size_t>(nodes));
  std::iota(before.begin(), before.end(), 0);
  Arrangement placement(edges, nodes, where);
  std::vector<int> after = placement.grow();
  return placement.cost(after) < placement.cost(before) ? after : before;
}

Result<std::vector<int>> near_order(Communicator& comm, std::span<const Edge> edges, int nodes) {
  TUTTI_TRY(where, localities_of(comm));
  return place_near(edges, nodes, where);
}

}  // namespace tutti::comm
