// MPI 5.0, 6.12: the request of a nonblocking collective is not freed and not cancelled, nor that
// of a persistent one while it is active; it stays as it was, and is waited for.
#include <vector>

#include "check.h"

using namespace ranks;

namespace {

void refuse_and_wait(MPI_Request request) {
  const MPI_Request before = request;
  CHECK(class_of(MPI_Request_free(&request)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Cancel(&request)) == MPI_ERR_REQUEST);
  CHECK(request == before);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const int count : {1, 300000}) {
    std::vector<int> sum(static_cast<std::size_t>(count), rank);
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, sum.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    refuse_and_wait(request);
    CHECK(sum.back() == size * (size - 1) / 2);
    MPI_Bcast_init(sum.data(), count, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    sum.assign(sum.size(), rank);
    MPI_Start(&request);
    const MPI_Request kept = request;
    CHECK(class_of(MPI_Request_free(&request)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Cancel(&request)) == MPI_ERR_REQUEST);
    CHECK(request == kept);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum.back() == 0);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
  }
  return done();
}
