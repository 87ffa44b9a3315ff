/* Ranks that send and reduce for ever: what a killed actor meets in the middle of its work. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBytes = 1 << 18 };

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char* out = calloc(kBytes, 1);
  char* in = calloc(kBytes, 1);
  if (out == NULL || in == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int round = 0, sum; round >= 0; round = (round + 1) % 1000) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(out, kBytes, MPI_CHAR, (rank + 1) % size, 0, in, kBytes, MPI_CHAR,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (round == 0) printf("rank %d works\n", rank);
    if (round == 0) fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
