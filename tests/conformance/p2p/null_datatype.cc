// MPI 5.0, 3.2.2 and 3.10: a message without elements, or to nobody, has no use for its datatype.
// All other implementations take MPI_DATATYPE_NULL there; where there is something to move it is an
// error.
#include "check.h"

using namespace ranks;

namespace {

const MPI_Datatype kNone = MPI_DATATYPE_NULL;
const MPI_Comm kWorld = MPI_COMM_WORLD;

// From every rank to the next, without elements.
void to_the_next() {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Status status;
  int elements = -1;
  CHECK(MPI_Irecv(nullptr, 0, kNone, from, 1, kWorld, &requests[0]) == MPI_SUCCESS);
  CHECK(MPI_Send(nullptr, 0, kNone, to, 1, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Wait(&requests[0], &status) == MPI_SUCCESS);
  MPI_Get_count(&status, MPI_INT, &elements);
  CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 1 && elements == 0);
  CHECK(MPI_Sendrecv(nullptr, 0, kNone, to, 2, nullptr, 0, kNone, from, 2, kWorld, &status) ==
        MPI_SUCCESS);
  CHECK(status.MPI_SOURCE == from);
  CHECK(MPI_Send_init(nullptr, 0, kNone, to, 3, kWorld, &requests[0]) == MPI_SUCCESS);
  CHECK(MPI_Recv_init(nullptr, 0, kNone, from, 3, kWorld, &requests[1]) == MPI_SUCCESS);
  MPI_Startall(2, requests);
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  for (MPI_Request& each : requests) MPI_Request_free(&each);
  CHECK(MPI_Isend(nullptr, 0, kNone, to, 4, kWorld, &requests[0]) == MPI_SUCCESS);
  MPI_Message message;
  MPI_Mprobe(from, 4, kWorld, &message, MPI_STATUS_IGNORE);
  CHECK(MPI_Mrecv(nullptr, 0, kNone, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

void to_nobody() {
  int word = 7;
  MPI_Status status;
  MPI_Request request;
  CHECK(MPI_Send(&word, 1, kNone, MPI_PROC_NULL, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Recv(nullptr, 5, kNone, MPI_PROC_NULL, 0, kWorld, &status) == MPI_SUCCESS);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  CHECK(MPI_Irecv(nullptr, 5, kNone, MPI_PROC_NULL, 0, kWorld, &request) == MPI_SUCCESS);
  MPI_Wait(&request, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  CHECK(MPI_Psend_init(&word, 2, 1, kNone, MPI_PROC_NULL, 0, kWorld, MPI_INFO_NULL, &request) ==
        MPI_SUCCESS);
  MPI_Start(&request);
  MPI_Pready_range(0, 1, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

void together() {
  std::vector<MPI_Datatype> none(static_cast<std::size_t>(size), kNone);
  const std::vector<int> zeros(none.size(), 0);
  const int* const zero = zeros.data();
  CHECK(MPI_Bcast(nullptr, 0, kNone, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Allgather(nullptr, 0, kNone, nullptr, 0, kNone, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Scatter(nullptr, 0, kNone, nullptr, 0, kNone, 0, kWorld) == MPI_SUCCESS);
  MPI_Request request;
  CHECK(MPI_Ialltoallw(nullptr, zero, zero, none.data(), nullptr, zero, zero, none.data(), kWorld,
                       &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);

  // One type is missing: of the rank that gets nothing.
  none[static_cast<std::size_t>(rank)] = MPI_INT;
  std::vector<int> counts(zeros), word{rank + 1}, got{0};
  counts[static_cast<std::size_t>(rank)] = 1;
  CHECK(MPI_Alltoallw(word.data(), counts.data(), zero, none.data(), got.data(), counts.data(),
                      zero, none.data(), kWorld) == MPI_SUCCESS);
  CHECK(got == word);
}

void refused() {
  int word = 7;
  MPI_Request request;
  CHECK(class_of(MPI_Send(&word, 1, kNone, rank, 0, kWorld)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_Irecv(&word, 1, kNone, rank, 0, kWorld, &request)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_Sendrecv(&word, 0, kNone, rank, 2, &word, 1, kNone, rank, 2, kWorld,
                              MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_Bcast(&word, 1, kNone, 0, MPI_COMM_SELF)) == MPI_ERR_TYPE);
  const int one = 1, at = 0;
  CHECK(class_of(MPI_Alltoallw(&word, &one, &at, &kNone, &word, &one, &at, &kNone,
                               MPI_COMM_SELF)) == MPI_ERR_TYPE);
  // A handle that is no type is none for empty messages either.
  const auto wild = reinterpret_cast<MPI_Datatype>(MPI_COMM_WORLD);
  CHECK(class_of(MPI_Send(&word, 0, wild, MPI_PROC_NULL, 0, kWorld)) == MPI_ERR_TYPE);
}

}  // namespace

int main(int argc, char**) {
  begin();
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  to_the_next();
  to_nobody();
  together();
  if (argc == 1) refused();  // with a word: arguments are not checked
  return done();
}
