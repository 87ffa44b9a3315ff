// Chapter 8: grids of ranks.
#include <algorithm>

#include "bodies.h"
#include "mpi/give_comm.h"
#include "mpi/give_topology.h"

namespace tutti::mpi::body {
namespace {

using Shape = comm::Topology::Shape;

Code check_dims(int ndims, const int* dims) {
  if (ndims < 0) return refuse(Code::dims, "ndims is " + std::to_string(ndims) + ", below zero");
  for (int d = 0; d < ndims; ++d)
    if (dims[d] <= 0)
      return refuse(Code::dims, "dims[" + std::to_string(d) + "] is " + std::to_string(dims[d]));
  return Code::ok;
}

comm::Topology grid_of(int ndims, const int* dims, const int* periods) {
  comm::Topology grid;
  grid.shape = Shape::grid;
  grid.sizes.assign(dims, dims + ndims);
  for (int d = 0; d < ndims; ++d) grid.periodic.push_back(periods[d] != 0);
  return grid;
}

// Stops multiplying above INT32_MAX: no communicator has so many ranks, which is an error anyway.
std::int64_t places(int ndims, const int* dims) {
  std::int64_t all = 1;
  for (int d = 0; d < ndims && all <= INT32_MAX; ++d) all *= dims[d];
  return all;
}

Code check_grid(const comm::Communicator& comm, int ndims, const int* dims) {
  if (comm.is_inter()) return refuse(Code::comm, "an intercommunicator has no topology");
  if (const Code code = check_dims(ndims, dims); code != Code::ok) return code;
  if (places(ndims, dims) <= comm.size()) return Code::ok;
  return refuse(Code::dims, "the grid has " + std::to_string(places(ndims, dims)) +
                                " places, the communicator " + std::to_string(comm.size()) +
                                " ranks");
}

}  // namespace

Code cart_create(comm::Communicator& comm_old, int ndims, const int dims[], const int periods[],
                 int reorder, MPI_Comm* comm_cart) {
  if (const Code code = check_grid(comm_old, ndims, dims); code != Code::ok) return code;
  auto grid = std::make_shared<comm::Topology>(grid_of(ndims, dims, periods));
  const int nodes = comm::grid_size(grid->sizes);
  const auto order = order_of(comm_old, edges_of(*grid, nodes), nodes, reorder != 0);
  if (!order) return note(order);
  return give_comm(comm_old, comm::create_ordered(comm_old, *order, std::move(grid)), comm_cart);
}

Code cart_map(comm::Communicator& comm, int ndims, const int dims[], const int periods[],
              int* newrank) {
  if (const Code code = check_grid(comm, ndims, dims); code != Code::ok) return code;
  const comm::Topology grid = grid_of(ndims, dims, periods);
  const int nodes = comm::grid_size(grid.sizes);
  // A local call: it goes by which host each rank is on, which is known here. MPI_Cart_create asks
  // the other ranks, and may know more.
  *newrank =
      place_in(comm::place_near(edges_of(grid, nodes), nodes, comm::hosts_in(comm)), comm.rank());
  return Code::ok;
}

Code dims_create(int nnodes, int ndims, int dims[]) {
  if (nnodes <= 0 || ndims < 0)
    return refuse(nnodes <= 0 ? Code::arg : Code::dims,
                  "nnodes is " + std::to_string(nnodes) + ", ndims " + std::to_string(ndims));
  const auto done = comm::balance_dimensions(nnodes, {dims, static_cast<std::size_t>(ndims)});
  return done ? Code::ok : note(done);
}

Code cartdim_get(comm::Communicator& comm, int* ndims) {
  const comm::Topology* const grid = topology_on(comm, Shape::grid);
  if (grid == nullptr) return Code::topology;
  *ndims = static_cast<int>(grid->sizes.size());
  return Code::ok;
}

Code cart_get(comm::Communicator& comm, int maxdims, int dims[], int periods[], int coords[]) {
  const comm::Topology* const grid = topology_on(comm, Shape::grid);
  if (grid == nullptr) return Code::topology;
  const std::vector<int> here = comm::coordinates_of(*grid, comm.rank());
  for (std::size_t d = 0; d < here.size() && static_cast<int>(d) < maxdims; ++d) {
    dims[d] = grid->sizes[d];
    periods[d] = grid->periodic[d];
    coords[d] = here[d];
  }
  return Code::ok;
}

Code cart_rank(comm::Communicator& comm, const int coords[], int* rank) {
  const comm::Topology* const grid = topology_on(comm, Shape::grid);
  if (grid == nullptr) return Code::topology;
  const std::size_t ndims = grid->sizes.size();
  *rank = comm::rank_at(*grid, {coords, ndims});
  if (*rank != comm::kProcNull) return Code::ok;
  *rank = MPI_PROC_NULL;
  return refuse(Code::arg, "the coordinates lie outside a dimension that is not periodic");
}

Code cart_coords(comm::Communicator& comm, int rank, int maxdims, int coords[]) {
  const comm::Topology* const grid = topology_on(comm, Shape::grid);
  if (grid == nullptr) return Code::topology;
  const std::vector<int> there = comm::coordinates_of(*grid, rank);
  std::copy_n(there.begin(), std::min(there.size(), static_cast<std::size_t>(std::max(0, maxdims))),
              coords);
  return Code::ok;
}

Code cart_shift(comm::Communicator& comm, int direction, int disp, int* rank_source,
                int* rank_dest) {
  const comm::Topology* const grid = topology_on(comm, Shape::grid);
  if (grid == nullptr) return Code::topology;
  if (direction < 0 || static_cast<std::size_t>(direction) >= grid->sizes.size())
    return refuse(Code::dims, "direction is " + std::to_string(direction) + " of " +
                                  std::to_string(grid->sizes.size()) + " dimensions");
  const auto d = static_cast<std::size_t>(direction);
  const std::vector<int> here = comm::coordinates_of(*grid, comm.rank());
  const auto at = [&](std::int64_t step) -> int {
    const std::int64_t place = here[d] + step;
    std::vector<int> there = here;
    const std::int64_t size = grid->sizes[d];
    if (!grid->periodic[d] && (place < 0 || place >= size)) return MPI_PROC_NULL;
    there[d] = static_cast<int>((place % size + size) % size);
    return comm::rank_at(*grid, there);
  };
  *rank_source = at(-static_cast<std::int64_t>(disp));
  *rank_dest = at(disp);
  return Code::ok;
}

// The dimensions that remain; ranks of equal coordinates in the others stay together, in order.
Code cart_sub(comm::Communicator& comm, const int remain_dims[], MPI_Comm* newcomm) {
  const comm::Topology* const grid = topology_on(comm, Shape::grid);
  if (grid == nullptr) return Code::topology;
  auto part = std::make_shared<comm::Topology>();
  const std::vector<int> here = comm::coordinates_of(*grid, comm.rank());
  int color = 0;
  for (std::size_t d = 0; d < here.size(); ++d) {
    if (remain_dims[d] != 0) {
      part->sizes.push_back(grid->sizes[d]);
      part->periodic.push_back(grid->periodic[d]);
    } else {
      color = color * grid->sizes[d] + here[d];
    }
  }
  Result<comm::CommRef> made = comm::split(comm, color, comm.rank());
  if (made) (*made)->topology = std::move(part);
  return give_comm(comm, std::move(made), newcomm);
}

}  // namespace tutti::mpi::body
