// MPI 5.0, 3.7.5: of many requests that are done none is passed over for ever by MPI_Waitany and
// MPI_Testany, though new ones take the places of those that were found.
#include "check.h"

using namespace ranks;

namespace {

constexpr int kRequests = 4;
int words[kRequests];

void again(MPI_Request* requests, int i) {
  MPI_Irecv(&words[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
  MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
  int there = 0;
  while (there == 0) MPI_Request_get_status(requests[i], &there, MPI_STATUS_IGNORE);
}

}  // namespace

int main() {
  begin();
  MPI_Request requests[kRequests];
  int found[kRequests] = {};
  for (int i = 0; i < kRequests; ++i) again(requests, i);
  for (int round = 0; round < 10 * kRequests; ++round) {
    int index = -1, flag = 0;
    if (round % 2 == 0)
      MPI_Waitany(kRequests, requests, &index, MPI_STATUS_IGNORE);
    else
      MPI_Testany(kRequests, requests, &index, &flag, MPI_STATUS_IGNORE);
    CHECK(index >= 0 && index < kRequests);
    if (index < 0 || index >= kRequests) break;
    CHECK(words[index] == index && requests[index] == MPI_REQUEST_NULL);
    ++found[index];
    again(requests, index);
  }
  for (const int times : found) CHECK(times > 0);
  MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
  return done();
}
