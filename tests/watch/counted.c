/* Calls that can be counted: 5 broadcasts; then rank 0 sends 10 messages of 1000 bytes to the last rank, which
   answers each with one of 8. "wait": rank 0 comes to a barrier when that one has waited there for a while. "abort": it ends the
   job after it. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size;
  char bytes[1000] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 5; ++i) MPI_Bcast(bytes, 100, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 10; ++i) {
    if (rank == 0) {
      MPI_Send(bytes, 1000, MPI_BYTE, size - 1, 7, MPI_COMM_WORLD);
      MPI_Recv(bytes, 8, MPI_BYTE, size - 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == size - 1) {
      MPI_Recv(bytes, 1000, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(bytes, 8, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
    }
  }
  if (argc > 1 && strcmp(argv[1], "wait") == 0 && rank == 0) usleep(300000);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Finalize();
  return 0;
}
