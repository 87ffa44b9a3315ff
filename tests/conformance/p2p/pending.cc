// MPI 5.0, 3.7.5: when one of the requests of MPI_Waitall fails, the call returns with
// MPI_ERR_IN_STATUS, and the status of one that has neither failed nor completed says
// MPI_ERR_PENDING; it can be waited for later.
#include "check.h"

using namespace ranks;

namespace {

// The message of `waiting` is sent after the wait only.
void one_fails(int failing, int waiting, int fine) {
  const int words[3] = {1, 2, 3};
  int in[3] = {-1, -1, -1};
  MPI_Request requests[4];
  MPI_Irecv(&in[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[failing]);
  MPI_Irecv(&in[1], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[waiting]);
  MPI_Irecv(&in[2], 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[fine]);
  requests[3] = MPI_REQUEST_NULL;
  MPI_Send(words, 2, MPI_INT, 0, 1, MPI_COMM_SELF);
  MPI_Send(words, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
  MPI_Status statuses[4];
  CHECK(class_of(MPI_Waitall(4, requests, statuses)) == MPI_ERR_IN_STATUS);
  CHECK(class_of(statuses[failing].MPI_ERROR) == MPI_ERR_TRUNCATE);
  CHECK(statuses[waiting].MPI_ERROR == MPI_ERR_PENDING);
  CHECK(statuses[fine].MPI_ERROR == MPI_SUCCESS && statuses[3].MPI_ERROR == MPI_SUCCESS);
  CHECK(requests[failing] == MPI_REQUEST_NULL && requests[fine] == MPI_REQUEST_NULL);
  CHECK(requests[waiting] != MPI_REQUEST_NULL);
  MPI_Send(words + 1, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
  CHECK(MPI_Waitall(4, requests, statuses) == MPI_SUCCESS && in[1] == 2);
  CHECK(requests[waiting] == MPI_REQUEST_NULL);
}

// Between ranks: 1 sends what is too long for 0, and the rest only when 0 has told it so.
void between_ranks() {
  std::vector<int> words(100000, 7), in(100000, -1);
  int go = 0;
  if (rank == 1) {
    MPI_Send(words.data(), 100000, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&go, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(words.data(), 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
  }
  if (rank != 0) return;
  int later = -1;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(&later, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in.data(), 50000, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
  CHECK(class_of(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
  CHECK(statuses[0].MPI_ERROR == MPI_ERR_PENDING);
  CHECK(class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
  MPI_Send(&go, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS && later == 7);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  one_fails(0, 1, 2);
  one_fails(2, 0, 1);
  one_fails(1, 2, 0);
  if (size > 1) between_ranks();
  return done();
}
