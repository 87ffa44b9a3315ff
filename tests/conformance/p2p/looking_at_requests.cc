// MPI 5.0, 3.7.6: Request_get_status_any, _all and _some say what Test would say, and leave every
// request as it is; null and inactive requests count as done, with an empty status.
#include "check.h"

using namespace ranks;

namespace {

const int kMessages = 4;

struct Pending {
  int in[kMessages] = {};
  MPI_Request requests[kMessages];

  Pending() {
    for (int i = 0; i < kMessages; ++i)
      MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
  }
  void arrives(int tag) {
    const int word = 100 + tag;
    MPI_Send(&word, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
  }
};

void none_done(const Pending& pending) {
  int flag = -1, index = -1, count = -1, indices[kMessages];
  MPI_Request_get_status_any(kMessages, pending.requests, &index, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0 && index == MPI_UNDEFINED);
  flag = -1;
  MPI_Request_get_status_all(kMessages, pending.requests, &flag, MPI_STATUSES_IGNORE);
  CHECK(flag == 0);
  MPI_Request_get_status_some(kMessages, pending.requests, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == 0);
}

void one_done(Pending& pending) {
  pending.arrives(2);
  int flag = 0, index = -1, count = 0, indices[kMessages] = {-1, -1, -1, -1}, words = 0;
  MPI_Status status, statuses[kMessages];
  while (flag == 0) MPI_Request_get_status_any(kMessages, pending.requests, &index, &flag, &status);
  CHECK(index == 2 && status.MPI_TAG == 2 && status.MPI_SOURCE == 0);
  MPI_Get_count(&status, MPI_INT, &words);
  CHECK(words == 1 && pending.in[2] == 102 && pending.requests[2] != MPI_REQUEST_NULL);
  MPI_Request_get_status_some(kMessages, pending.requests, &count, indices, statuses);
  CHECK(count == 1 && indices[0] == 2 && statuses[0].MPI_TAG == 2);
  flag = -1;
  MPI_Request_get_status_all(kMessages, pending.requests, &flag, statuses);
  CHECK(flag == 0);
}

void all_done(Pending& pending) {
  for (const int tag : {0, 1, 3}) pending.arrives(tag);
  int flag = 0, count = -1, indices[kMessages];
  MPI_Status statuses[kMessages];
  while (flag == 0) MPI_Request_get_status_all(kMessages, pending.requests, &flag, statuses);
  for (int i = 0; i < kMessages; ++i) CHECK(statuses[i].MPI_TAG == i && pending.in[i] == 100 + i);
  MPI_Request_get_status_some(kMessages, pending.requests, &count, indices, statuses);
  CHECK(count == kMessages);
  for (MPI_Request& request : pending.requests) {
    CHECK(request != MPI_REQUEST_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL);
  }
}

void nothing_there() {
  MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int flag = 0, index = 0, count = 0, indices[2], word = 0;
  MPI_Status status, statuses[2];
  MPI_Request_get_status_any(2, none, &index, &flag, &status);
  CHECK(flag != 0 && index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Recv_init(&word, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &none[1]);
  flag = 0;
  MPI_Request_get_status_all(2, none, &flag, statuses);
  CHECK(flag != 0 && statuses[1].MPI_TAG == MPI_ANY_TAG);
  MPI_Request_get_status_some(2, none, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == MPI_UNDEFINED);
  flag = 0;
  MPI_Request_get_status(none[1], &flag, &status);
  CHECK(flag != 0 && status.MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Request_free(&none[1]);
}

}  // namespace

int main() {
  begin();
  Pending pending;
  none_done(pending);
  one_done(pending);
  all_done(pending);
  nothing_there();
  return done();
}
