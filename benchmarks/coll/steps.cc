// steps [COUNT]: what many solvers do, so many times: each rank exchanges a little with both
// neighbours on a ring, then all agree on a sum. Prints the time of all steps.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kHalo = 64;  // doubles

// The sum that all agree on, of what came from both sides.
double step(int rank, int size, std::array<double, kHalo>& mine) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  std::array<double, kHalo> from_left{}, from_right{};
  MPI_Sendrecv(mine.data(), kHalo, MPI_DOUBLE, right, 0, from_left.data(), kHalo, MPI_DOUBLE, left,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(mine.data(), kHalo, MPI_DOUBLE, left, 1, from_right.data(), kHalo, MPI_DOUBLE, right,
               1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  double part = from_left[kHalo - 1] + from_right[0], sum = 0;
  MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int count = argc > 1 ? std::atoi(argv[1]) : 1000;
  std::array<double, kHalo> mine{};
  mine.fill(rank);
  const double all = static_cast<double>(size) * (size - 1);  // each rank's number, twice
  bool right = true;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < count; ++i) right = step(rank, size, mine) == all && right;
  if (rank == 0) std::printf("%.4f s\n", MPI_Wtime() - begin);
  MPI_Finalize();
  return right ? 0 : 1;
}
