/* Two ranks call different collectives of long messages while the third is busy with something else.
   Where errors end the job, that one is not waited for. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { kEach = 1 << 20 };

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* from = calloc(3, kEach);
  char* into = calloc(3, kEach);
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) {
    for (;;) pause();
  }
  if (rank == 0)
    MPI_Ialltoall(from, kEach, MPI_BYTE, into, kEach, MPI_BYTE, MPI_COMM_WORLD, &request);
  else
    MPI_Iallgather(from, kEach, MPI_BYTE, into, kEach, MPI_BYTE, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return 0;
}
