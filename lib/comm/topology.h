// Topologies: who is near whom, in the user's mind (MPI 5.0, 8). Values; shared by duplicates.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "coll/coll.h"
#include "comm/locality.h"

namespace tutti::comm {

// One of three forms; the fields of the others stay empty.
struct Topology {
  enum class Shape : std::uint8_t { grid, graph, adjacent };
  Shape shape = Shape::grid;
  // grid: row-major ranks.
  std::vector<int> sizes;
  std::vector<bool> periodic;
  // graph: MPI's index and edges, the same on all.
  std::vector<int> index, edges;
  // adjacent: my own neighbours, weighted or not.
  bool weighted = false;
  std::vector<int> sources, source_weights, destinations, destination_weights;

  // Of rank `rank`, in MPI's order; below zero: nobody.
  coll::Neighbours neighbours(int rank) const;
  // How many of these there are; allocates nothing.
  struct Degrees {
    std::size_t in, out;
  };
  Degrees degrees(int rank) const;
};

// Grids.
std::vector<int> coordinates_of(const Topology& grid, int rank);
// Wraps around in periodic dimensions. Below zero (kProcNull): outside.
int rank_at(const Topology& grid, std::span<const int> coordinates);
int grid_size(std::span<const int> sizes);
// Factors of `nodes` over the dimensions that are 0, falling and as close to each other as they can
// be (MPI 5.0, 8.5.2): the least between the largest and the smallest; of such, the largest
// smallest one, then the largest second smallest. Error: the others do not divide it.
Result<void> balance_dimensions(int nodes, std::span<int> sizes);

// Weighted edges between ranks, for placing ranks.
struct Edge {
  int from, to, weight;
};
// Ranks of `comm` in the order in which they should stand so that heavy edges are short:
// result[i] is who becomes rank i. Collective; all give the same edges and get the same order.
Result<std::vector<int>> near_order(Communicator& comm, std::span<const Edge> edges, int nodes);
// The same where it is known where everybody sits.
std::vector<int> place_near(std::span<const Edge> edges, int nodes,
                            std::span<const Locality> where);

}  // namespace tutti::comm
