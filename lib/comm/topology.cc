// Topologies: neighbours, grids, balanced dimensions.
#include "comm/topology.h"

#include <cmath>

#include "comm/comm.h"

namespace tutti::comm {

std::vector<int> coordinates_of(const Topology& grid, int rank) {
  std::vector<int> coordinates(grid.sizes.size());
  for (std::size_t d = grid.sizes.size(); d-- > 0; rank /= grid.sizes[d])
    coordinates[d] = rank % grid.sizes[d];
  return coordinates;
}

int rank_at(const Topology& grid, std::span<const int> coordinates) {
  int rank = 0;
  for (std::size_t d = 0; d < grid.sizes.size(); ++d) {
    const int size = grid.sizes[d];
    int place = coordinates[d];
    if (grid.periodic[d]) place = (place % size + size) % size;
    if (place < 0 || place >= size) return kProcNull;
    rank = rank * size + place;
  }
  return rank;
}

int grid_size(std::span<const int> sizes) {
  int nodes = 1;
  for (const int size : sizes) nodes *= size;
  return nodes;
}

namespace {

coll::Neighbours on_grid(const Topology& grid, int rank) {
  coll::Neighbours around;
  around.is_grid = true;
  const std::vector<int> here = coordinates_of(grid, rank);
  for (std::size_t d = 0; d < here.size(); ++d)
    for (const int step : {-1, 1}) {
      std::vector<int> there = here;
      there[d] += step;
      around.sources.push_back(rank_at(grid, there));
    }
  around.destinations = around.sources;
  return around;
}

coll::Neighbours on_graph(const Topology& graph, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  const int from = rank == 0 ? 0 : graph.index[at - 1];
  coll::Neighbours around;
  around.sources.assign(graph.edges.begin() + from, graph.edges.begin() + graph.index[at]);
  around.destinations = around.sources;
  return around;
}

std::vector<int> divisors_of(int number) {
  std::vector<int> low, high;
  for (int d = 1; static_cast<std::int64_t>(d) * d <= number; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (number / d != d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// Writes `rest` as `left` falling factors, none above `most`; the first found has the smallest
// largest factor, then the smallest next, and so on: the dimensions closest to each other.
bool factor(int rest, std::size_t left, int most, std::vector<int>& factors) {
  if (left == 1) {
    if (rest <= most) factors.push_back(rest);
    return rest <= most;
  }
  for (const int first : divisors_of(rest)) {
    if (first > most) break;
    // The largest of `left` factors is at least the root of their product.
    if (std::pow(first, static_cast<double>(left)) < static_cast<double>(rest)) continue;
    factors.push_back(first);
    if (factor(rest / first, left - 1, first, factors)) return true;
    factors.pop_back();
  }
  return false;
}

}  // namespace

coll::Neighbours Topology::neighbours(int rank) const {
  if (form == Form::grid) return on_grid(*this, rank);
  if (form == Form::graph) return on_graph(*this, rank);
  return {sources, destinations, false};
}

Result<void> balance_dimensions(int nodes, std::span<int> sizes) {
  int rest = nodes;
  std::size_t free = 0;
  int fixed = 1;
  for (const int size : sizes) {
    if (size < 0) return fail(Code::dims, "a dimension is " + std::to_string(size));
    if (size == 0) ++free;
    if (size > 0) fixed *= size;
  }
  if (fixed == 0 || nodes % fixed != 0)
    return fail(Code::dims, std::to_string(nodes) + " ranks do not fill dimensions of " +
                                std::to_string(fixed) + " places");
  if (free == 0) return {};
  rest /= fixed;
  std::vector<int> factors;
  factor(rest, free, rest, factors);
  auto next = factors.begin();
  for (int& size : sizes)
    if (size == 0) size = *next++;
  return {};
}

}  // namespace tutti::comm
