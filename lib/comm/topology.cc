// Topologies: neighbours, grids, balanced dimensions.
#include "comm/topology.h"

#include <algorithm>

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

// Factors in falling order. Closer to each other than those found before: less between the largest
// and the smallest; else the smallest is larger, or else the second smallest, and so on.
class Balance {
 public:
  std::vector<int> factors(int product, std::size_t count) {
    divisors_ = divisors_of(product);
    now_.resize(count);
    search(product, count, product);
    return best_;
  }

 private:
  bool is_better() const {
    if (best_.empty()) return true;
    const int spread = now_.front() - now_.back(), least = best_.front() - best_.back();
    if (spread != least) return spread < least;
    return std::lexicographical_compare(best_.rbegin(), best_.rend(), now_.rbegin(), now_.rend());
  }
  // Whether `left` factors can have the product `rest` with a spread no larger than the best's.
  bool may_be_better(std::int64_t rest, std::size_t left) const {
    if (best_.empty() || left == now_.size()) return true;
    std::int64_t smallest = now_.front() - (best_.front() - best_.back());
    for (std::size_t i = 0; i < left && smallest > 0 && rest > 0; ++i) rest /= smallest;
    return smallest <= 0 || rest > 0;
  }
  // Writes `rest` as the last `left` factors, none above `most`.
  void search(int rest, std::size_t left, int most) {
    if (!may_be_better(rest, left)) return;
    int& next = now_[now_.size() - left];
    if (left == 1) {
      next = rest;
      if (rest <= most && is_better()) best_ = now_;
      return;
    }
    for (const int each : divisors_) {
      if (each > most) break;
      if (rest % each != 0 || !reaches(each, left, rest)) continue;
      next = each;
      search(rest / each, left - 1, each);
    }
  }
  // Whether `count` factors of at most `factor` have this product: the largest is its root at
  // least.
  static bool reaches(int factor, std::size_t count, int product) {
    std::int64_t power = 1;
    for (std::size_t i = 0; i < count && power < product && factor > 1; ++i) power *= factor;
    return power >= product;
  }

  std::vector<int> divisors_, now_, best_;
};

}  // namespace

coll::Neighbours Topology::neighbours(int rank) const {
  if (shape == Shape::grid) return on_grid(*this, rank);
  if (shape == Shape::graph) return on_graph(*this, rank);
  return {sources, destinations, false};
}

Topology::Degrees Topology::degrees(int rank) const {
  if (shape == Shape::adjacent) return {sources.size(), destinations.size()};
  const auto at = static_cast<std::size_t>(rank);
  const std::size_t both =
      shape == Shape::grid
          ? 2 * sizes.size()
          : static_cast<std::size_t>(rank == 0 ? index[0] : index[at] - index[at - 1]);
  return {both, both};
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
  const std::vector<int> factors = Balance().factors(rest, free);
  auto next = factors.begin();
  for (int& size : sizes)
    if (size == 0) size = *next++;
  return {};
}

}  // namespace tutti::comm
