// Topologies on communicators: asking for one, and placing ranks near whom they talk to.
#pragma once

#include <vector>

#include "mpi/objects.h"

namespace tutti::mpi {

// The topology of that shape, or null after noting that there is none.
const comm::Topology* topology_on(const comm::Communicator& comm, comm::Topology::Shape shape);

// Who talks to whom in a grid or graph of `nodes` places.
std::vector<comm::Edge> edges_of(const comm::Topology& topology, int nodes);
// order[i]: who of `comm` becomes rank i; as they are unless `reorder`.
Result<std::vector<int>> order_of(comm::Communicator& comm, const std::vector<comm::Edge>& edges,
                                  int nodes, bool reorder);
// The new rank of `rank`; MPI_UNDEFINED when it is left out.
int place_in(const std::vector<int>& order, int rank);

}  // namespace tutti::mpi
