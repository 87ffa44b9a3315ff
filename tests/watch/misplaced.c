/* Rank 1 names a rank that there is not, on line 5; or both broadcast, of other lengths, on line 8. */
#include <mpi.h>

__attribute__((noinline)) static void lose_way(int* word) {
  MPI_Send(word, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
}
__attribute__((noinline)) static void disagree(int* word, int rank) {
  MPI_Bcast(word, rank == 0 ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank = 0, word[2] = {0, 0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1) disagree(word, rank);
  if (rank == 1) lose_way(word);
  MPI_Finalize();
  return 0;
}
