// Topologies: grids, graphs, distributed graphs; neighbourhood collectives on each of them.
#include <algorithm>
#include <map>

#include "check.h"

using namespace ranks;

namespace {

struct Around {
  std::vector<int> sources, destinations;
};

// As MPI tells it, by the calls for each kind.
Around around_of(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, me = 0;
  MPI_Topo_test(comm, &kind);
  MPI_Comm_rank(comm, &me);
  Around around;
  if (kind == MPI_CART) {
    int ndims = 0;
    MPI_Cartdim_get(comm, &ndims);
    for (int d = 0; d < ndims; ++d) {
      int before = 0, after = 0;
      MPI_Cart_shift(comm, d, 1, &before, &after);
      around.sources.insert(around.sources.end(), {before, after});
    }
    around.destinations = around.sources;
  } else if (kind == MPI_GRAPH) {
    int n = 0;
    MPI_Graph_neighbors_count(comm, me, &n);
    around.sources.resize(static_cast<std::size_t>(n));
    MPI_Graph_neighbors(comm, me, n, around.sources.data());
    around.destinations = around.sources;
  } else {
    int in = 0, out = 0, weighted = 0;
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    around.sources.resize(static_cast<std::size_t>(in));
    around.destinations.resize(static_cast<std::size_t>(out));
    MPI_Dist_graph_neighbors(comm, in, around.sources.data(), MPI_UNWEIGHTED, out,
                             around.destinations.data(), MPI_UNWEIGHTED);
  }
  return around;
}

enum class How { blocking, begun, kept };

void run(How how, MPI_Request* request) {
  if (how == How::blocking) return;
  if (how == How::kept) MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  if (how == How::kept) MPI_Request_free(request);
}

void gathers(MPI_Comm comm, const Around& around, How how) {
  int me = 0;
  MPI_Comm_rank(comm, &me);
  const std::size_t in = around.sources.size();
  const int mine[2] = {me, me + 1000};
  std::vector<int> got(2 * in + 1, -1), counts(in + 1, 2), displs;
  for (std::size_t i = 0; i <= in; ++i) displs.push_back(static_cast<int>(2 * (in - i)) - 2);
  const auto check = [&](bool reversed) {
    for (std::size_t i = 0; i < in; ++i) {
      const std::size_t at = reversed ? 2 * (in - 1 - i) : 2 * i;
      const int from = around.sources[i];
      CHECK(got[at] == (from < 0 ? -1 : from) && got[at + 1] == (from < 0 ? -1 : from + 1000));
    }
    std::fill(got.begin(), got.end(), -1);
  };
  MPI_Request request = MPI_REQUEST_NULL;
  if (how == How::blocking)
    MPI_Neighbor_allgather(mine, 2, MPI_INT, got.data(), 2, MPI_INT, comm);
  else if (how == How::begun)
    MPI_Ineighbor_allgather(mine, 2, MPI_INT, got.data(), 2, MPI_INT, comm, &request);
  else
    MPI_Neighbor_allgather_init(mine, 2, MPI_INT, got.data(), 2, MPI_INT, comm, MPI_INFO_NULL,
                                &request);
  run(how, &request);
  check(false);
  if (how == How::blocking)
    MPI_Neighbor_allgatherv(mine, 2, MPI_INT, got.data(), counts.data(), displs.data(), MPI_INT,
                            comm);
  else if (how == How::begun)
    MPI_Ineighbor_allgatherv(mine, 2, MPI_INT, got.data(), counts.data(), displs.data(), MPI_INT,
                             comm, &request);
  else
    MPI_Neighbor_allgatherv_init(mine, 2, MPI_INT, got.data(), counts.data(), displs.data(),
                                 MPI_INT, comm, MPI_INFO_NULL, &request);
  run(how, &request);
  check(true);
}

// What a rank sends on its k-th edge to the same destination.
int word(int from, int to, int k) {
  return from * 10000 + to * 10 + k;
}

void exchanges(MPI_Comm comm, const Around& around, How how, int form) {
  int me = 0, kind = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Topo_test(comm, &kind);
  const auto numbered = [&](const std::vector<int>& peers, bool receiving) {
    std::vector<int> words;
    std::map<int, int> seen;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      // On a grid what left in one direction arrives from the opposite one.
      const bool swaps =
          kind == MPI_CART && receiving && peers[i] >= 0 && peers[i] == peers[i ^ 1U];
      const int k = swaps ? (seen[peers[i]]++ ^ 1) : seen[peers[i]]++;
      words.push_back(receiving ? word(peers[i], me, k) : word(me, peers[i], k));
    }
    return words;
  };
  const std::vector<int> sent = numbered(around.destinations, false);
  const std::vector<int> expected = numbered(around.sources, true);
  const std::size_t in = around.sources.size(), out = around.destinations.size();
  std::vector<int> to = sent, got(in + 1, -1), ones(std::max(in, out) + 1, 1), places;
  std::vector<MPI_Aint> addresses;
  const std::vector<MPI_Datatype> types(ones.size(), MPI_INT);
  for (std::size_t i = 0; i < ones.size(); ++i) {
    places.push_back(static_cast<int>(i));
    addresses.push_back(static_cast<MPI_Aint>(i * sizeof(int)));
  }
  to.push_back(-1);
  MPI_Request request = MPI_REQUEST_NULL;
  if (form == 0 && how == How::blocking)
    MPI_Neighbor_alltoall(to.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
  else if (form == 0 && how == How::begun)
    MPI_Ineighbor_alltoall(to.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm, &request);
  else if (form == 0)
    MPI_Neighbor_alltoall_init(to.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm, MPI_INFO_NULL,
                               &request);
  else if (form == 1 && how == How::blocking)
    MPI_Neighbor_alltoallv(to.data(), ones.data(), places.data(), MPI_INT, got.data(), ones.data(),
                           places.data(), MPI_INT, comm);
  else if (form == 1 && how == How::begun)
    MPI_Ineighbor_alltoallv(to.data(), ones.data(), places.data(), MPI_INT, got.data(), ones.data(),
                            places.data(), MPI_INT, comm, &request);
  else if (form == 1)
    MPI_Neighbor_alltoallv_init(to.data(), ones.data(), places.data(), MPI_INT, got.data(),
                                ones.data(), places.data(), MPI_INT, comm, MPI_INFO_NULL, &request);
  else if (how == How::blocking)
    MPI_Neighbor_alltoallw(to.data(), ones.data(), addresses.data(), types.data(), got.data(),
                           ones.data(), addresses.data(), types.data(), comm);
  else if (how == How::begun)
    MPI_Ineighbor_alltoallw(to.data(), ones.data(), addresses.data(), types.data(), got.data(),
                            ones.data(), addresses.data(), types.data(), comm, &request);
  else
    MPI_Neighbor_alltoallw_init(to.data(), ones.data(), addresses.data(), types.data(), got.data(),
                                ones.data(), addresses.data(), types.data(), comm, MPI_INFO_NULL,
                                &request);
  run(how, &request);
  for (std::size_t i = 0; i < in; ++i) CHECK(got[i] == (around.sources[i] < 0 ? -1 : expected[i]));
}

void collectives(MPI_Comm comm) {
  const Around around = around_of(comm);
  for (const How how : {How::blocking, How::begun, How::kept}) {
    gathers(comm, around, how);
    for (int form = 0; form < 3; ++form) exchanges(comm, around, how, form);
  }
}

void dimensions() {
  const struct {
    int nodes, ndims;
    int dims[4], expected[4];
  } cases[] = {{6, 2, {0, 0}, {3, 2}},
               {7, 2, {0, 0}, {7, 1}},
               {6, 3, {0, 3, 0}, {2, 3, 1}},
               {12, 3, {0, 0, 0}, {3, 2, 2}},
               {24, 3, {0, 0, 0}, {4, 3, 2}},
               {60, 3, {0, 0, 0}, {5, 4, 3}},
               {16, 4, {0, 0, 0, 0}, {2, 2, 2, 2}},
               {1, 3, {0, 0, 0}, {1, 1, 1}},
               {72, 2, {0, 0}, {9, 8}},
               {5040, 3, {0, 0, 0}, {21, 16, 15}},
               {720, 4, {0, 0, 2, 0}, {10, 6, 2, 6}},
               {1000000, 2, {0, 0}, {1000, 1000}}};
  for (auto each : cases) {
    MPI_Dims_create(each.nodes, each.ndims, each.dims);
    CHECK(std::equal(each.dims, each.dims + each.ndims, each.expected));
  }
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int wrong[2] = {4, 0}, kind = 0;
  MPI_Error_class(MPI_Dims_create(6, 2, wrong), &kind);
  CHECK(kind == MPI_ERR_DIMS);
}

void grids() {
  for (int ndims = 0; ndims <= 3; ++ndims)
    for (int mask = 0; mask < 1 << ndims; ++mask)
      for (const int reorder : {0, 1}) {
        int dims[3] = {}, periods[3] = {}, coords[3] = {}, again = -1, me = -1;
        MPI_Dims_create(ndims == 0 ? 1 : size, ndims, dims);
        for (int d = 0; d < ndims; ++d) periods[d] = mask >> d & 1;
        MPI_Comm cart;
        MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, reorder, &cart);
        if (cart == MPI_COMM_NULL) continue;
        MPI_Comm_rank(cart, &me);
        MPI_Cart_coords(cart, me, ndims, coords);
        MPI_Cart_rank(cart, coords, &again);
        CHECK(again == me);
        if (ndims > 0 && periods[0]) {
          coords[0] += 5 * dims[0];
          MPI_Cart_rank(cart, coords, &again);
          CHECK(again == me);
        }
        collectives(cart);
        if (ndims == 2) {
          MPI_Comm row;
          const int remain[2] = {0, 1};
          MPI_Cart_sub(cart, remain, &row);
          int n = 0, rows = 0, kind = 0;
          MPI_Comm_size(row, &n);
          MPI_Cartdim_get(row, &rows);
          MPI_Topo_test(row, &kind);
          CHECK(n == dims[1] && rows == 1 && kind == MPI_CART);
          collectives(row);
          MPI_Comm_free(&row);
        }
        MPI_Comm copy;
        MPI_Comm_dup(cart, &copy);
        int kind = 0;
        MPI_Topo_test(copy, &kind);
        CHECK(kind == MPI_CART);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&cart);
      }
}

// A wheel: the first rank beside all others, the others in a ring.
void graphs() {
  std::vector<int> index, edges;
  for (int r = 0; r < size; ++r) {
    if (r == 0)
      for (int o = 1; o < size; ++o) edges.push_back(o);
    else {
      edges.push_back(0);
      if (size > 2) {
        edges.push_back(1 + (r % (size - 1)));
        edges.push_back(1 + ((r + size - 3) % (size - 1)));
      }
    }
    index.push_back(static_cast<int>(edges.size()));
  }
  for (const int reorder : {0, 1}) {
    MPI_Comm graph;
    MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), reorder, &graph);
    int nodes = 0, count = 0;
    MPI_Graphdims_get(graph, &nodes, &count);
    CHECK(nodes == size && count == static_cast<int>(edges.size()));
    collectives(graph);
    MPI_Comm_free(&graph);
  }
}

// Everyone to the right twice, and to himself; said by the ranks themselves or by others.
void distributed() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (const int reorder : {0, 1}) {
    const int from[3] = {left, left, rank}, to[3] = {right, right, rank}, weights[3] = {1, 2, 3};
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, weights, 3, to, weights, MPI_INFO_NULL,
                                   reorder, &graph);
    int in = 0, out = 0, weighted = 0;
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 3 && out == 3 && weighted == 1);
    collectives(graph);
    MPI_Comm_free(&graph);
    // The right one says my edges.
    const int source[1] = {left}, degree[1] = {3};
    const int targets[3] = {rank, rank, left};
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, source, degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL,
                          reorder, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 3 && out == 3 && weighted == 0);
    collectives(graph);
    MPI_Comm_free(&graph);
  }
}

// As much as there is room for; none is none, whatever the arrays are.
void in_little_room() {
  const int dims[] = {1, 1}, periods[] = {1, 0}, index[] = {2}, edges[] = {0, 0};
  MPI_Comm comm;
  int a[] = {7, 7}, b[] = {7, 7}, c[] = {7, 7};
  MPI_Cart_create(MPI_COMM_SELF, 2, dims, periods, 0, &comm);
  CHECK(MPI_Cart_get(comm, 0, nullptr, nullptr, nullptr) == MPI_SUCCESS);
  CHECK(MPI_Cart_coords(comm, 0, 0, nullptr) == MPI_SUCCESS);
  CHECK(MPI_Cart_get(comm, 1, a, b, c) == MPI_SUCCESS);
  CHECK(a[0] == 1 && b[0] == 1 && c[0] == 0 && a[1] == 7 && b[1] == 7 && c[1] == 7);
  CHECK(MPI_Cart_coords(comm, 0, 1, a) == MPI_SUCCESS && a[0] == 0 && a[1] == 7);
  MPI_Comm_free(&comm);
  MPI_Graph_create(MPI_COMM_SELF, 1, index, edges, 0, &comm);
  CHECK(MPI_Graph_get(comm, 0, 0, nullptr, nullptr) == MPI_SUCCESS);
  CHECK(MPI_Graph_get(comm, 1, 1, a, b) == MPI_SUCCESS && a[0] == 2 && b[0] == 0 && b[1] == 7);
  MPI_Comm_free(&comm);
}

void hardware() {
  MPI_Comm comm;
  MPI_Info info, have;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Machine");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
  CHECK(comm != MPI_COMM_NULL);
  MPI_Comm_free(&comm);
  MPI_Info_set(info, "mpi_hw_resource_type", "nothing known");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
  CHECK(comm == MPI_COMM_NULL);
  MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm);
  CHECK(comm != MPI_COMM_NULL);
  MPI_Comm_free(&comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &comm);
  if (comm != MPI_COMM_NULL) {
    int n = 0;
    MPI_Comm_size(comm, &n);
    CHECK(n < size);  // a strict part
    MPI_Comm_free(&comm);
  }
  MPI_Get_hw_resource_info(&have);
  int flag = 0, length = 8;
  char value[8] = "";
  MPI_Info_get_string(have, "hwloc://Machine", &length, value, &flag);
  CHECK(flag == 1 && std::string(value) == "true");
  MPI_Info_free(&have);
  MPI_Info_free(&info);
}

}  // namespace

int main() {
  begin();
  dimensions();
  grids();
  graphs();
  distributed();
  in_little_room();
  hardware();
  return done();
}
