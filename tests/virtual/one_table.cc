// A collective on all ranks, and on all of them in the reverse order, so that another host's rank
// is the first: TUTTI_EXPLAIN tells what each first rank takes the candidates to cost.
#include <mpi.h>

#include <cstdio>
#include <initializer_list>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, right = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm turned = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, turned}) {
    double one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (sum != size) right = 0;
  }
  if (right == 0) std::printf("rank %d: a wrong sum\n", rank);
  MPI_Comm_free(&turned);
  MPI_Finalize();
  return right == 1 ? 0 : 1;
}
