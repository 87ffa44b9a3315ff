// The last rank ends the job with status 43 while all others wait for a message for ever.
#include "check.h"

using namespace ranks;

int main() {
  begin();
  if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 43);
  int word = 0;
  MPI_Recv(&word, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}
