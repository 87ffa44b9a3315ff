/* One program for every MPI: says who it is, and proves that its world is whole. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 1 << 20 };

int main(int argc, char** argv) {
  int rank, size, local_size, sum = 0, good = 1;
  MPI_Comm local;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  MPI_Comm_size(local, &local_size);
  int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char* out = malloc(kBytes);
  char* in = malloc(kBytes);
  int left = (rank + size - 1) % size;
  for (int i = 0; i < kBytes; ++i) out[i] = (char)(rank + i);
  MPI_Sendrecv(out, kBytes, MPI_CHAR, (rank + 1) % size, 1, in, kBytes, MPI_CHAR, left, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < kBytes; ++i)
    if (in[i] != (char)(left + i)) good = 0;
  printf("rank %d of %d, %d here, sum %d, ring %s\n", rank, size, local_size, sum,
         good ? "good" : "bad");
  fflush(stdout);
  if (argc > 2 && strcmp(argv[1], "abort") == 0 && rank == 1)
    MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
  if (argc > 1 && strcmp(argv[1], "crash") == 0 && rank == 1) raise(SIGSEGV);
  if (argc > 1 && strcmp(argv[1], "abort") != 0)
    for (;;) pause();
  MPI_Comm_free(&local);
  MPI_Finalize();
  return good && sum == size * (size + 1) / 2 ? 0 : 1;
}
