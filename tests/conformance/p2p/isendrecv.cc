// MPI 5.0, 3.10: MPI_Isendrecv and MPI_Isendrecv_replace: both directions behind one request.
#include "check.h"

using namespace ranks;

namespace {

void around(int n) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const auto length = static_cast<std::size_t>(n);
  std::vector<int> out(length, value_of(rank, right, n)), in(length, -1);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Isendrecv(out.data(), n, MPI_INT, right, 1, in.data(), n, MPI_INT, left, 1, MPI_COMM_WORLD,
                &requests[0]);
  std::vector<int> swap(length, rank);
  MPI_Isendrecv_replace(swap.data(), n, MPI_INT, right, 2, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                        &requests[1]);
  MPI_Waitall(2, requests, statuses);
  CHECK(in == std::vector<int>(length, value_of(left, rank, n)));
  CHECK(swap == std::vector<int>(length, left));
  for (const MPI_Status& status : statuses) {
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == n && status.MPI_SOURCE == left);
  }
}

void with_nobody() {
  int out = 1, in = -5;
  MPI_Request request;
  MPI_Status status;
  MPI_Isendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 1, &in, 1, MPI_INT, MPI_PROC_NULL, 1,
                MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(in == -5 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Isendrecv_c(&out, 1, MPI_INT, rank, 3, &in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(in == 1);
}

void truncated() {
  int out[4] = {1, 2, 3, 4}, in[2] = {0, 0};
  MPI_Request request;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Isendrecv(out, 4, MPI_INT, rank, 6, in, 2, MPI_INT, rank, 6, MPI_COMM_WORLD, &request);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
  CHECK(request == MPI_REQUEST_NULL);
}

}  // namespace

int main() {
  begin();
  for (const int n : {0, 1, 1000, 100000}) around(n);
  with_nobody();
  truncated();
  return done();
}
