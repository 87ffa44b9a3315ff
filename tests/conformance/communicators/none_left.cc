// MPI 5.0, 9.4: when no communicator is left to be made, every way to make one returns
// MPI_ERR_OTHER; those that were made work and can be freed, and then there are some again.
#include "check.h"

using namespace ranks;

namespace {

constexpr int kTooMany = 200000;

int sum_over(MPI_Comm comm) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  std::vector<MPI_Comm> made;
  MPI_Comm comm = MPI_COMM_NULL;
  int code = MPI_SUCCESS;
  while (made.size() < kTooMany && (code = MPI_Comm_dup(MPI_COMM_SELF, &comm)) == MPI_SUCCESS)
    made.push_back(comm);
  CHECK(class_of(code) == MPI_ERR_OTHER);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(class_of(MPI_Comm_dup(MPI_COMM_WORLD, &comm)) == MPI_ERR_OTHER);
  CHECK(class_of(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm)) == MPI_ERR_OTHER);
  MPI_Request request;
  code = MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPI_ERR_OTHER);
  CHECK(sum_over(MPI_COMM_WORLD) == size);
  CHECK(!made.empty() && sum_over(made.back()) == 1);
  for (MPI_Comm& each : made) CHECK(MPI_Comm_free(&each) == MPI_SUCCESS);
  CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS && sum_over(comm) == size);
  MPI_Comm_free(&comm);
  return done();
}
