/* The first rank sends many messages that the last one does not ask for yet. "waits": it asks for
   them after they have all come; "never": it goes on waiting for another one, which never comes. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int never = argc > 1 && strcmp(argv[1], "never") == 0;
  int count = argc > 2 ? atoi(argv[2]) : 1000;
  char bytes[100] = {0};
  if (rank == 0) {
    MPI_Request* requests = malloc((size_t)count * sizeof *requests);
    for (int i = 0; i < count; ++i)
      MPI_Isend(bytes, 100, MPI_BYTE, size - 1, 5 + i % 3, MPI_COMM_WORLD, &requests[i]);
    if (!never) MPI_Send(bytes, 1, MPI_BYTE, size - 1, 99, MPI_COMM_WORLD);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(requests);
  } else if (rank == size - 1) {
    MPI_Recv(bytes, 1, MPI_BYTE, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
      MPI_Recv(bytes, 100, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
