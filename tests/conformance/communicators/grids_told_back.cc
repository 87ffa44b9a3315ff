// MPI 5.0, 8.5.5 and 8.5.8: grids and graphs say what they were made of; Cart_map and Graph_map
// give each rank a place of its own, as the constructors with reorder would, or none.
#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

// Everyone's places: all different among those that have one, `members` of them, 0 to members - 1.
void one_each(int mine, int members) {
  std::vector<int> places(static_cast<std::size_t>(size));
  MPI_Allgather(&mine, 1, MPI_INT, places.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::erase(places, MPI_UNDEFINED);
  std::sort(places.begin(), places.end());
  CHECK(static_cast<int>(places.size()) == members);
  for (int i = 0; i < static_cast<int>(places.size()); ++i)
    CHECK(places[static_cast<std::size_t>(i)] == i);
}

void grids() {
  const int dims[2] = {(size + 1) / 2, 1}, periods[2] = {1, 0}, members = dims[0];
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  if (grid != MPI_COMM_NULL) {
    int dims_back[2] = {-1, -1}, periods_back[2] = {-1, -1}, coords[2] = {-1, -1};
    CHECK(MPI_Cart_get(grid, 2, dims_back, periods_back, coords) == MPI_SUCCESS);
    CHECK(dims_back[0] == dims[0] && dims_back[1] == 1);
    CHECK(periods_back[0] == 1 && periods_back[1] == 0);
    CHECK(coords[0] == rank && coords[1] == 0);
    MPI_Comm_free(&grid);
  }
  int place = -7;
  CHECK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &place) == MPI_SUCCESS);
  one_each(place, members);
}

// A ring of the first ranks.
void graphs() {
  const int members = std::max(1, size - 1);
  std::vector<int> index, edges;
  for (int r = 0; r < members; ++r) {
    edges.push_back((r + members - 1) % members);
    edges.push_back((r + 1) % members);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm graph;
  MPI_Graph_create(MPI_COMM_WORLD, members, index.data(), edges.data(), 0, &graph);
  if (graph != MPI_COMM_NULL) {
    std::vector<int> index_back(index.size(), -1), edges_back(edges.size(), -1);
    CHECK(MPI_Graph_get(graph, members, 2 * members, index_back.data(), edges_back.data()) ==
          MPI_SUCCESS);
    CHECK(index_back == index && edges_back == edges);
    MPI_Comm_free(&graph);
  }
  int place = -7;
  CHECK(MPI_Graph_map(MPI_COMM_WORLD, members, index.data(), edges.data(), &place) == MPI_SUCCESS);
  one_each(place, members);
}

}  // namespace

int main() {
  begin();
  grids();
  graphs();
  return done();
}
