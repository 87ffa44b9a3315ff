// Rank 0 makes a mistake under MPI_ERRORS_ARE_FATAL: the job ends with one line that says what.
#include <string>

#include "check.h"

using namespace ranks;

namespace {

void mistake(const std::string& which) {
  int words[2] = {0, 0};
  double real = 0;
  if (which == "too long")
    MPI_Sendrecv(words, 2, MPI_INT, 0, 7, words, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  else if (which == "too long, waited for") {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(words, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    MPI_Send(words, 2, MPI_INT, 0, 7, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (which == "no communicator")
    MPI_Send(words, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
  else if (which == "no operation")
    MPI_Allreduce(MPI_IN_PLACE, &real, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_SELF);
  else
    MPI_Send(words, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  int word = 0;
  if (rank == 0) mistake(argc > 1 ? argv[1] : "");
  MPI_Recv(&word, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}
