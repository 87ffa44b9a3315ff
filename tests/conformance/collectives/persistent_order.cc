// MPI 5.0, 6.13: persistent collectives match in the order of their making; they may be started
// in different orders, over and over, beside blocking ones.
#include <algorithm>
#include <random>

#include "check.h"

using namespace ranks;

int main() {
  begin();
  constexpr int kKinds = 4;
  int mine = 0, sum = 0, word = 0;
  std::vector<int> all(static_cast<std::size_t>(size)), counts(all.size(), 1), places;
  std::vector<MPI_Datatype> types(all.size(), MPI_INT);
  for (int r = 0; r < size; ++r) places.push_back(r * static_cast<int>(sizeof(int)));
  std::vector<int> to(all.size()), from(all.size());
  MPI_Request requests[kKinds];
  MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
  MPI_Bcast_init(&word, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests + 1);
  MPI_Allgather_init(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                     requests + 2);
  MPI_Alltoallw_init(to.data(), counts.data(), places.data(), types.data(), from.data(),
                     counts.data(), places.data(), types.data(), MPI_COMM_WORLD, MPI_INFO_NULL,
                     requests + 3);
  std::mt19937 random(static_cast<unsigned>(rank + 1));  // each rank in an order of its own
  for (int round = 0; round < 30; ++round) {
    mine = rank + round;
    word = rank == size - 1 ? 100 + round : -1;
    for (int r = 0; r < size; ++r) to[static_cast<std::size_t>(r)] = value_of(rank, r, round);
    int order[kKinds] = {0, 1, 2, 3};
    std::shuffle(order, order + kKinds, random);
    for (const int which : order) MPI_Start(&requests[which]);
    if (round % 5 == 0) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(kKinds, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == size * (size - 1) / 2 + size * round);
    CHECK(word == 100 + round);
    for (int r = 0; r < size; ++r) {
      CHECK(all[static_cast<std::size_t>(r)] == r + round);
      CHECK(from[static_cast<std::size_t>(r)] == value_of(r, rank, round));
    }
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  return done();
}
