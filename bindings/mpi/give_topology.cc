// Topologies: what is there, and the order of ranks.
#include "mpi/give_topology.h"

#include <algorithm>
#include <numeric>

#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

const char* name_of(comm::Topology::Shape shape) {
  switch (shape) {
    case comm::Topology::Shape::grid:
      return "Cartesian";
    case comm::Topology::Shape::graph:
      return "graph";
    case comm::Topology::Shape::adjacent:
      break;
  }
  return "distributed graph";
}

}  // namespace

const comm::Topology* topology_on(const comm::Communicator& comm, comm::Topology::Shape shape) {
  const comm::Topology* const topology = comm.topology.get();
  if (topology != nullptr && topology->shape == shape) return topology;
  refuse(Code::topology, std::string("the communicator has no ") + name_of(shape) + " topology");
  return nullptr;
}

std::vector<comm::Edge> edges_of(const comm::Topology& topology, int nodes) {
  std::vector<comm::Edge> edges;
  for (int node = 0; node < nodes; ++node)
    for (const int other : topology.neighbours(node).destinations)
      if (other >= 0) edges.push_back({node, other, 1});
  return edges;
}

Result<std::vector<int>> order_of(comm::Communicator& comm, const std::vector<comm::Edge>& edges,
                                  int nodes, bool reorder) {
  if (reorder) return comm::near_order(comm, edges, nodes);
  std::vector<int> order(static_cast<std::size_t>(nodes));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int place_in(const std::vector<int>& order, int rank) {
  const auto found = std::find(order.begin(), order.end(), rank);
  return found == order.end() ? MPI_UNDEFINED : static_cast<int>(found - order.begin());
}

}  // namespace tutti::mpi
