/* Rank 1 ends as its argument says: crash, abort, or a status. The others are in calls that wait for it,
   those of other hosts on a connection of theirs to it. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, word = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 1) {
    const char* const how = argc > 1 ? argv[1] : "0";
    for (int i = 0; i < size - 1; ++i)
      MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(how, "crash") == 0) raise(SIGSEGV);
    if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    _exit(atoi(how));
  }
  MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
