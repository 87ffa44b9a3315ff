// A long message that is still under way, and thousands of short ones behind it.
#include "check.h"

using namespace ranks;

int main() {
  begin();
  constexpr int kLong = 24 << 20, kShort = 9000;  // ints: 96 MiB
  const int other = rank ^ 1;
  std::vector<int> data, small(kShort);
  if (rank % 2 == 0 && other < size) {
    data.assign(kLong, 42);
    data.back() = 43;
    std::vector<MPI_Request> requests(kShort + 1);
    MPI_Isend(data.data(), kLong, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < kShort; ++i) {
      const auto at = static_cast<std::size_t>(i);
      small[at] = value_of(rank, other, i);
      MPI_Isend(&small[at], 1, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[at + 1]);
    }
    MPI_Waitall(kShort + 1, requests.data(), MPI_STATUSES_IGNORE);
  } else if (rank % 2 == 1) {
    data.assign(kLong, -1);
    MPI_Request request;
    MPI_Irecv(data.data(), kLong, MPI_INT, other, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < kShort; ++i) {
      int got = -1;
      MPI_Recv(&got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(got == value_of(other, rank, i));
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(data.front() == 42 && data[kLong / 2] == 42 && data.back() == 43);
  }
  return done();
}
