// Chapter 8: graphs of ranks, known to all or each to its own neighbours.
#include <algorithm>
#include <numeric>

#include "bodies.h"
#include "mpi/checks.h"
#include "mpi/give_comm.h"
#include "mpi/give_topology.h"

namespace tutti::mpi::body {
namespace {

using Shape = comm::Topology::Shape;

Code check_graph(const comm::Communicator& comm, int nnodes, const int* index, const int* edges) {
  if (comm.is_inter()) return refuse(Code::comm, "an intercommunicator has no topology");
  if (nnodes < 0 || nnodes > comm.size())
    return refuse(Code::arg, "nnodes is " + std::to_string(nnodes) + " of " +
                                 std::to_string(comm.size()) + " ranks");
  for (int n = 0; n < nnodes; ++n)
    if (index[n] < (n == 0 ? 0 : index[n - 1]))
      return refuse(Code::arg, "index[" + std::to_string(n) + "] falls");
  for (int e = 0; nnodes > 0 && e < index[nnodes - 1]; ++e)
    if (edges[e] < 0 || edges[e] >= nnodes)
      return refuse(Code::arg, "edges[" + std::to_string(e) + "] is " + std::to_string(edges[e]) +
                                   " of " + std::to_string(nnodes) + " nodes");
  return Code::ok;
}

comm::Topology graph_of(int nnodes, const int* index, const int* edges) {
  comm::Topology graph;
  graph.shape = Shape::graph;
  graph.index.assign(index, index + nnodes);
  if (nnodes > 0) graph.edges.assign(edges, edges + index[nnodes - 1]);
  return graph;
}

std::vector<int> weights_of(const int* weights, std::size_t count) {
  if (weights == MPI_UNWEIGHTED) return {};
  if (count == 0) return {};
  return {weights, weights + count};
}

// False, noted: one of them cannot be.
bool good_neighbours(const comm::Communicator& comm, Count degree, const int* ranks,
                     const char* name) {
  const auto wrong = [](Code code, const std::string& what) {
    refuse(code, what);
    return false;
  };
  if (degree < 0)
    return wrong(Code::arg, std::string("the number of ") + name + " is " + std::to_string(degree) +
                                ", below zero");
  if (!good_array(ranks, degree, name)) return false;
  for (Count i = 0; i < degree; ++i)
    if (ranks[i] < 0 || ranks[i] >= comm.size())
      return wrong(Code::rank, std::string(name) + "[" + std::to_string(i) + "] is " +
                                   std::to_string(ranks[i]) + " of " + std::to_string(comm.size()) +
                                   " ranks");
  return true;
}

bool good_weights(Count degree, const int* weights, const char* name) {
  if (degree == 0 || weights == MPI_UNWEIGHTED) return true;
  if (weights != MPI_WEIGHTS_EMPTY) return good_numbers(weights, degree, Code::arg, name);
  refuse(Code::arg, std::string(name) + " is MPI_WEIGHTS_EMPTY, but there are " +
                        std::to_string(degree) + " of them");
  return false;
}

void copy_out(const std::vector<int>& from, int most, int* into) {
  const auto room = static_cast<std::size_t>(std::max(0, most));
  std::copy_n(from.begin(), std::min(from.size(), room), into);
}

}  // namespace

Code graph_create(comm::Communicator& comm_old, int nnodes, const int indx[], const int edges[],
                  int reorder, MPI_Comm* comm_graph) {
  if (const Code code = check_graph(comm_old, nnodes, indx, edges); code != Code::ok) return code;
  auto graph = std::make_shared<comm::Topology>(graph_of(nnodes, indx, edges));
  const auto order = order_of(comm_old, edges_of(*graph, nnodes), nnodes, reorder != 0);
  if (!order) return note(order);
  return give_comm(comm_old, comm::create_ordered(comm_old, *order, std::move(graph)), comm_graph);
}

Code graph_map(comm::Communicator& comm, int nnodes, const int indx[], const int edges[],
               int* newrank) {
  if (const Code code = check_graph(comm, nnodes, indx, edges); code != Code::ok) return code;
  const comm::Topology graph = graph_of(nnodes, indx, edges);
  *newrank = place_in(comm::place_near(edges_of(graph, nnodes), nnodes, comm::hosts_in(comm)),
                      comm.rank());
  return Code::ok;
}

Code graphdims_get(comm::Communicator& comm, int* nnodes, int* nedges) {
  const comm::Topology* const graph = topology_on(comm, Shape::graph);
  if (graph == nullptr) return Code::topology;
  *nnodes = static_cast<int>(graph->index.size());
  *nedges = static_cast<int>(graph->edges.size());
  return Code::ok;
}

Code graph_get(comm::Communicator& comm, int maxindex, int maxedges, int indx[], int edges[]) {
  const comm::Topology* const graph = topology_on(comm, Shape::graph);
  if (graph == nullptr) return Code::topology;
  copy_out(graph->index, maxindex, indx);
  copy_out(graph->edges, maxedges, edges);
  return Code::ok;
}

Code graph_neighbors_count(comm::Communicator& comm, int rank, int* nneighbors) {
  const comm::Topology* const graph = topology_on(comm, Shape::graph);
  if (graph == nullptr) return Code::topology;
  *nneighbors = static_cast<int>(graph->neighbours(rank).sources.size());
  return Code::ok;
}

Code graph_neighbors(comm::Communicator& comm, int rank, int maxneighbors, int neighbors[]) {
  const comm::Topology* const graph = topology_on(comm, Shape::graph);
  if (graph == nullptr) return Code::topology;
  copy_out(graph->neighbours(rank).sources, maxneighbors, neighbors);
  return Code::ok;
}

Code topo_test(comm::Communicator& comm, int* status) {
  *status = MPI_UNDEFINED;
  if (comm.topology == nullptr) return Code::ok;
  switch (comm.topology->shape) {
    case Shape::grid:
      *status = MPI_CART;
      break;
    case Shape::graph:
      *status = MPI_GRAPH;
      break;
    case Shape::adjacent:
      *status = MPI_DIST_GRAPH;
      break;
  }
  return Code::ok;
}

Code dist_graph_create_adjacent(comm::Communicator& comm_old, int indegree, const int sources[],
                                const int sourceweights[], int outdegree, const int destinations[],
                                const int destweights[], Info* /*info*/, int reorder,
                                MPI_Comm* comm_dist_graph) {
  if (comm_old.is_inter()) return refuse(Code::comm, "an intercommunicator has no topology");
  if (!good_neighbours(comm_old, indegree, sources, "sources") ||
      !good_neighbours(comm_old, outdegree, destinations, "destinations") ||
      !good_weights(indegree, sourceweights, "sourceweights") ||
      !good_weights(outdegree, destweights, "destweights"))
    return trouble().code;
  comm::Topology mine;
  mine.shape = Shape::adjacent;
  mine.sources.assign(sources, sources + indegree);
  mine.destinations.assign(destinations, destinations + outdegree);
  mine.weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
  if (mine.weighted) {
    mine.source_weights = weights_of(sourceweights, mine.sources.size());
    mine.destination_weights = weights_of(destweights, mine.destinations.size());
  }
  return give_comm(comm_old, comm::create_adjacent(comm_old, std::move(mine), reorder != 0),
                   comm_dist_graph);
}

Code dist_graph_create(comm::Communicator& comm_old, int n, const int sources[],
                       const int degrees[], const int destinations[], const int weights[],
                       Info* /*info*/, int reorder, MPI_Comm* comm_dist_graph) {
  if (comm_old.is_inter()) return refuse(Code::comm, "an intercommunicator has no topology");
  if (!good_neighbours(comm_old, n, sources, "sources") ||
      !good_numbers(degrees, n, Code::arg, "degrees"))
    return trouble().code;
  const Count total = std::accumulate(degrees, degrees + n, Count{0});
  if (!good_neighbours(comm_old, total, destinations, "destinations") ||
      !good_weights(total, weights, "weights"))
    return trouble().code;
  const std::vector<int> weight = weights_of(weights, static_cast<std::size_t>(total));
  std::vector<comm::Edge> edges;
  std::size_t next = 0;
  for (int i = 0; i < n; ++i)
    for (int d = 0; d < degrees[i]; ++d, ++next)
      edges.push_back({sources[i], destinations[next], weight.empty() ? 1 : weight[next]});
  const bool weighted = weights != MPI_UNWEIGHTED;
  return give_comm(comm_old, comm::create_graph(comm_old, edges, weighted, reorder != 0),
                   comm_dist_graph);
}

Code dist_graph_neighbors_count(comm::Communicator& comm, int* indegree, int* outdegree,
                                int* weighted) {
  const comm::Topology* const graph = topology_on(comm, Shape::adjacent);
  if (graph == nullptr) return Code::topology;
  *indegree = static_cast<int>(graph->sources.size());
  *outdegree = static_cast<int>(graph->destinations.size());
  *weighted = graph->weighted;
  return Code::ok;
}

Code dist_graph_neighbors(comm::Communicator& comm, int maxindegree, int sources[],
                          int sourceweights[], int maxoutdegree, int destinations[],
                          int destweights[]) {
  const comm::Topology* const graph = topology_on(comm, Shape::adjacent);
  if (graph == nullptr) return Code::topology;
  copy_out(graph->sources, maxindegree, sources);
  copy_out(graph->destinations, maxoutdegree, destinations);
  if (!graph->weighted) return Code::ok;
  if (sourceweights != MPI_UNWEIGHTED) copy_out(graph->source_weights, maxindegree, sourceweights);
  if (destweights != MPI_UNWEIGHTED)
    copy_out(graph->destination_weights, maxoutdegree, destweights);
  return Code::ok;
}

}  // namespace tutti::mpi::body
