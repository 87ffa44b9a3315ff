// Ranks that look alike: each in a process namespace of its own, with the same process id, and
// without address randomisation with the same addresses. 8 MB go round, and every int is checked.
#include <cstdio>

#include "../ranks/check.h"

int main() {
  ranks::begin();
  constexpr int kCount = 2'000'000;
  std::vector<int> mine(kCount), theirs(kCount);
  const int right = (ranks::rank + 1) % ranks::size;
  const int left = (ranks::rank + ranks::size - 1) % ranks::size;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kCount; ++i)
      mine[static_cast<std::size_t>(i)] = ranks::value_of(ranks::rank, round, i);
    MPI_Sendrecv(mine.data(), kCount, MPI_INT, right, 1, theirs.data(), kCount, MPI_INT, left, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kCount; ++i)
      CHECK(theirs[static_cast<std::size_t>(i)] == ranks::value_of(left, round, i));
  }
  return ranks::done();
}
