// MPI 5.0, 9.4: MPI_ERR_PROC_ABORTED says that a process the call needs has ended: a receive from
// it, a send to it, a collective with it. Where errors return, the others go on with each other.
// Run with --enable-recovery; the last rank dies.
#include <unistd.h>

#include <cstdlib>

#include "check.h"

using namespace ranks;

namespace {

void call_the_dead(int dead) {
  int word = 0;
  const auto recv = [&](int count, int* buffer) {
    return class_of(MPI_Recv(buffer, count, MPI_INT, dead, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  };
  CHECK(recv(1, &word) == MPI_ERR_PROC_ABORTED);
  std::vector<int> many(1 << 20, rank);
  CHECK(class_of(MPI_Ssend(many.data(), 1 << 20, MPI_INT, dead, 1, MPI_COMM_WORLD)) ==
        MPI_ERR_PROC_ABORTED);
  MPI_Request request;
  MPI_Irecv(&word, 1, MPI_INT, dead, 2, MPI_COMM_WORLD, &request);
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED);
  int sum = 0;
  CHECK(class_of(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) ==
        MPI_ERR_PROC_ABORTED);
}

// A communicator of the dead one's, and more of the others' than a host keeps room for at once.
void make_and_free(MPI_Comm doomed, MPI_Comm others) {
  int word = 1, sum = 0;
  CHECK(class_of(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, doomed)) == MPI_ERR_PROC_ABORTED);
  CHECK(MPI_Comm_free(&doomed) == MPI_SUCCESS);
  for (int i = 0; i < 100; ++i) {
    MPI_Comm copy;
    CHECK(MPI_Comm_dup(others, &copy) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, copy) == MPI_SUCCESS && sum == size - 1);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
  }
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int dead = size - 1;
  MPI_Comm others, doomed;
  MPI_Comm_dup(MPI_COMM_WORLD, &doomed);
  MPI_Comm_split(MPI_COMM_WORLD, rank == dead, rank, &others);
  if (rank == dead) _exit(3);
  call_the_dead(dead);
  const int one = 1;
  int sum = 0;
  CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others) == MPI_SUCCESS && sum == dead);
  make_and_free(doomed, others);
  MPI_Comm_free(&others);
  if (rank == 0 && failures == 0) std::puts("all is well with the others");
  std::fflush(stdout);  // MPI_Finalize ends a job that is not whole with an error
  return done();
}
