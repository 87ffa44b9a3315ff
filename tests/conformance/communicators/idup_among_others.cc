// MPI 5.0, 7.4.2: MPI_Comm_idup is nonblocking; while it is under way on some ranks, all of them
// may make other communicators first, in an order of their own: a blocking call for a group, or
// further duplications, none of which may wait for one that only later calls let go on.
#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

void use(MPI_Comm comm) {
  const int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size);
  MPI_Comm_free(&comm);
}

void beside_a_group(MPI_Group all) {
  MPI_Comm later = MPI_COMM_NULL, now = MPI_COMM_NULL;
  MPI_Request request;
  if (rank % 2 == 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &now);
    MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
  } else {
    MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
    MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &now);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  use(later);
  use(now);
}

// Several at once, of different communicators, begun in another order on each rank.
void beside_each_other() {
  constexpr int kComms = 3;
  MPI_Comm from[kComms], later[kComms];
  MPI_Request requests[kComms];
  int order[kComms];
  for (int k = 0; k < kComms; ++k) {
    MPI_Comm_dup(MPI_COMM_WORLD, &from[k]);
    order[k] = (k + rank) % kComms;
  }
  if (rank % 2 != 0) std::reverse(order, order + kComms);
  for (const int k : order) MPI_Comm_idup(from[k], &later[k], &requests[k]);
  MPI_Waitall(kComms, requests, MPI_STATUSES_IGNORE);
  for (int k = 0; k < kComms; ++k) {
    use(later[k]);
    use(from[k]);
  }
}

}  // namespace

int main() {
  begin();
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  for (int turn = 0; turn < 20; ++turn) {
    beside_a_group(all);
    beside_each_other();
  }
  MPI_Group_free(&all);
  return done();
}
