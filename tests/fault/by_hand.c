/* by_hand HOW: the last rank leaves by HOW (kill, exit, abort) once all have met; the others wait for
 * it: rank 0 asleep in a receive, further ranks in a collective. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank = 0, size = 0, word = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
    if (strcmp(argv[1], "exit") == 0) exit(0);
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  if (rank == 0)
    MPI_Recv(&word, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
