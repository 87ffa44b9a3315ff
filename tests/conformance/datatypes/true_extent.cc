// MPI 5.0, 5.1.8: the true extent is what a type map really covers, whatever bounds
// MPI_Type_create_resized gave it; the extent is what separates elements in a message.
#include "check.h"

using namespace ranks;

int main() {
  begin();
  MPI_Datatype pair, resized;
  const int lengths[2] = {1, 2};
  const MPI_Aint places[2] = {8, 20};
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &pair);
  MPI_Type_create_resized(pair, -4, 64, &resized);
  MPI_Type_commit(&resized);
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(resized, &lower, &extent);
  CHECK(lower == -4 && extent == 64);
  MPI_Type_get_true_extent(resized, &lower, &extent);
  CHECK(lower == 8 && extent == 20);
  MPI_Count lower_c = 0, extent_c = 0;
  MPI_Type_get_true_extent_c(resized, &lower_c, &extent_c);
  CHECK(lower_c == 8 && extent_c == 20);

  // Two elements in a message lie one extent apart, on either side.
  std::vector<int> out(32), in(32, -1);
  for (int i = 0; i < 32; ++i) out[static_cast<std::size_t>(i)] = value_of(rank, 0, i);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Sendrecv(out.data(), 2, resized, right, 0, in.data(), 2, resized, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < 32; ++i) {
    const bool covered = i % 16 == 2 || i % 16 == 5 || i % 16 == 6;
    CHECK(in[static_cast<std::size_t>(i)] == (covered ? value_of(left, 0, i) : -1));
  }
  MPI_Type_free(&pair);
  MPI_Type_free(&resized);
  return done();
}
