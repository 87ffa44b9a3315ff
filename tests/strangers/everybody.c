/* everybody [END] -- every rank sends to every other one at once: each pair's first message, by whatever link they
 * have. Before that the last one closes all its descriptors from 3 on and below END. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && rank == size - 1)
    for (int each = 3; each < atoi(argv[1]); ++each) close(each);
  MPI_Request* const requests = malloc(2 * (size_t)size * sizeof *requests);
  int* const got = malloc((size_t)size * sizeof *got);
  for (int peer = 0; peer < size; ++peer)
    MPI_Irecv(&got[peer], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[peer]);
  for (int peer = 0; peer < size; ++peer)
    MPI_Isend(&rank, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[size + peer]);
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < size; ++peer) wrong |= got[peer] != peer;
  free(requests);
  free(got);
  if (rank == 0 && !wrong) puts("all right");
  MPI_Finalize();
  return wrong;
}
