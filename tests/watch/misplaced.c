/* By line: 4 names no rank, 7 broadcasts other lengths, 11 meets another kind of barrier. */
#include <mpi.h>
__attribute__((noinline)) static void lose_way(int* word) {
  MPI_Send(word, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
}
__attribute__((noinline)) static void disagree(int* word, int rank) {
  MPI_Bcast(word, rank == 0 ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
}
__attribute__((noinline)) static void mix(int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0, word[2] = {0, 0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2) mix(rank);
  if (argc > 1) disagree(word, rank);
  if (rank == 1) lose_way(word);
  MPI_Finalize();
  return 0;
}
