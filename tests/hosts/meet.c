/* Every rank meets every other: a sum over all, and a megabyte around the ring, checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 1 << 18 };

int main(int argc, char** argv) {
  int rank, size, sum, errors = 0;
  int* mine = malloc(kCount * sizeof *mine);
  int* theirs = malloc(kCount * sizeof *theirs);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  errors += sum != size * (size - 1) / 2;
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank + size - step) % size;
    for (int i = 0; i < kCount; ++i) mine[i] = rank + i;
    MPI_Sendrecv(mine, kCount, MPI_INT, to, step, theirs, kCount, MPI_INT, from, step,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kCount; ++i) errors += theirs[i] != from + i;
  }
  if (errors != 0) printf("rank %d: %d errors\n", rank, errors);
  MPI_Finalize();
  free(mine);
  free(theirs);
  return errors != 0;
}
