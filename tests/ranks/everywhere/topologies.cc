// Topologies of every kind, and the collectives among neighbours.
#include "everywhere.h"

namespace everywhere {
namespace {

// The collectives of a ring: from the left and from the right comes what they sent to us.
void among_neighbours(const Mine& my, MPI_Comm ring) {
  const std::array<int, 2> out{my.thread * 100 + rank, my.thread * 100 + rank};
  std::array<int, 2> in{-1, -1};
  const std::array<int, 2> counts{1, 1}, places{0, 1};
  const std::array<MPI_Aint, 2> bytes{0, sizeof(int)};
  const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_INT};
  const auto is_good = [&] {
    const bool good = in[0] == my.thread * 100 + left() && in[1] == my.thread * 100 + right();
    in = {-1, -1};
    return good;
  };
  IN_THREE_FORMS(Neighbor_allgather, neighbor_allgather, is_good(), out.data(), 1, MPI_INT,
                 in.data(), 1, MPI_INT, ring);
  IN_THREE_FORMS(Neighbor_allgatherv, neighbor_allgatherv, is_good(), out.data(), 1, MPI_INT,
                 in.data(), counts.data(), places.data(), MPI_INT, ring);
  IN_THREE_FORMS(Neighbor_alltoall, neighbor_alltoall, is_good(), out.data(), 1, MPI_INT, in.data(),
                 1, MPI_INT, ring);
  IN_THREE_FORMS(Neighbor_alltoallv, neighbor_alltoallv, is_good(), out.data(), counts.data(),
                 places.data(), MPI_INT, in.data(), counts.data(), places.data(), MPI_INT, ring);
  IN_THREE_FORMS(Neighbor_alltoallw, neighbor_alltoallw, is_good(), out.data(), counts.data(),
                 bytes.data(), types.data(), in.data(), counts.data(), bytes.data(), types.data(),
                 ring);
}

void cartesian(const Mine& my) {
  MPI_Comm ring, line;
  int dims[1] = {0}, periods[1] = {1}, coords[1], shape[1], kept[1];
  MPI_Dims_create(size, 1, dims);
  MPI_Cart_create(my.comm, 1, dims, periods, 0, &ring);
  int before = -1, after = -1, number = -1, place = -1, kind = -1;
  MPI_Cart_shift(ring, 0, 1, &before, &after);
  MPI_Cartdim_get(ring, &number);
  MPI_Cart_get(ring, 1, shape, periods, coords);
  MPI_Cart_coords(ring, rank, 1, coords);
  MPI_Cart_rank(ring, coords, &place);
  MPI_Topo_test(ring, &kind);
  CHECK(before == left() && after == right() && number == 1 && shape[0] == size);
  CHECK(place == rank && kind == MPI_CART);
  MPI_Cart_map(my.comm, 1, dims, periods, &place);
  kept[0] = 0;
  MPI_Cart_sub(ring, kept, &line);
  among_neighbours(my, ring);
  MPI_Comm_free(&line);
  MPI_Comm_free(&ring);
}

void graphs(const Mine& my) {
  MPI_Comm graph;
  std::vector<int> index, edges;
  for (int r = 0; r < size; ++r) {
    edges.push_back((r + size - 1) % size);
    edges.push_back((r + 1) % size);
    index.push_back(2 * r + 2);
  }
  MPI_Graph_create(my.comm, size, index.data(), edges.data(), 0, &graph);
  int nodes = 0, number = 0, place = -1, near[2] = {-1, -1};
  MPI_Graphdims_get(graph, &nodes, &number);
  std::vector<int> told(index.size()), told_edges(edges.size());
  MPI_Graph_get(graph, nodes, number, told.data(), told_edges.data());
  CHECK(told == index && told_edges == edges);
  MPI_Graph_neighbors_count(graph, rank, &number);
  MPI_Graph_neighbors(graph, rank, 2, near);
  CHECK(number == 2 && near[0] == left() && near[1] == right());
  MPI_Graph_map(my.comm, size, index.data(), edges.data(), &place);
  among_neighbours(my, graph);
  MPI_Comm_free(&graph);
}

void distributed(const Mine& my) {
  MPI_Comm given, adjacent;
  const int from[2] = {left(), right()}, degree[1] = {2}, self[1] = {rank};
  MPI_Dist_graph_create_adjacent(my.comm, 2, from, MPI_UNWEIGHTED, 2, from, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &adjacent);
  MPI_Dist_graph_create(my.comm, 1, self, degree, from, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &given);
  for (MPI_Comm graph : {adjacent, given}) {
    int in = 0, out = 0, weighted = -1;
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 2 && out == 2 && weighted == 0);
    int sources[2], targets[2];
    MPI_Dist_graph_neighbors(graph, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED);
    CHECK(targets[0] == left() && targets[1] == right());
  }
  among_neighbours(my, adjacent);
  MPI_Comm_free(&adjacent);
  MPI_Comm_free(&given);
}

constexpr std::array<Family, 3> kFamilies{cartesian, graphs, distributed};

}  // namespace

std::span<const Family> topologies() {
  return kFamilies;
}

}  // namespace everywhere
