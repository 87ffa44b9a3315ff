// Rank 0 makes a mistake under MPI_ERRORS_ARE_FATAL: the job ends with one line that says what.
#include "check.h"

using namespace ranks;

int main() {
  begin();
  int word = 0;
  if (rank == 0) MPI_Send(&word, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
  MPI_Recv(&word, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}
