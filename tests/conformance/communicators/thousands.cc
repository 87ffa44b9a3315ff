// MPI 5.0, 7.4: communicators are made and freed by the thousand: their numbers come back, and
// each is small; many live at once.
#include <malloc.h>

#include "check.h"

using namespace ranks;

namespace {

int sum_over(MPI_Comm comm) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

std::size_t used() {
  return ::mallinfo2().uordblks;
}

}  // namespace

int main() {
  begin();
  constexpr int kMany = 5000, kAtOnce = 500;
  for (int i = 0; i < kMany; ++i) {
    MPI_Comm comm;
    if (i % 3 == 0)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else if (i % 3 == 1)
      MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    else
      MPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (i % 100 == 0) CHECK(sum_over(comm) == (i % 3 == 2 ? 1 : size));
    MPI_Comm_free(&comm);
  }
  const std::size_t before = used();
  std::vector<MPI_Comm> comms(kAtOnce);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const std::size_t each = (used() - before) / kAtOnce;
  CHECK(each < 16384);
  for (MPI_Comm& comm : comms) {
    CHECK(sum_over(comm) == size);
    MPI_Comm_free(&comm);
  }
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  CHECK(used() < before + (1 << 20));  // what was taken came back
  if (rank == 0) std::printf("%zu bytes a communicator of %d ranks\n", each, size);
  return done();
}
