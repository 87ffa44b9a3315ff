// Persistent messages and collectives: started again and again, with new contents each time.
#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

const int kRounds = 20;

void messages() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int n : {1, 1000, 60000}) {
    const auto room = static_cast<std::size_t>(n);
    std::vector<int> out(room), sync_out(room), in(room), sync_in(room);
    MPI_Request requests[4];
    MPI_Send_init(out.data(), n, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(sync_out.data(), n, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(in.data(), n, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv_init(sync_in.data(), n, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Status statuses[4];
    MPI_Waitall(4, requests, statuses);  // inactive: at once
    CHECK(statuses[0].MPI_SOURCE == MPI_ANY_SOURCE);
    for (int round = 0; round < kRounds; ++round) {
      std::fill(out.begin(), out.end(), rank + round);
      std::fill(sync_out.begin(), sync_out.end(), rank - round);
      MPI_Startall(4, requests);
      MPI_Waitall(4, requests, statuses);
      CHECK(in == std::vector<int>(room, left + round));
      CHECK(sync_in == std::vector<int>(room, left - round));
      CHECK(statuses[3].MPI_SOURCE == left && requests[3] != MPI_REQUEST_NULL);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
    CHECK(requests[0] == MPI_REQUEST_NULL);
  }
}

void one_by_one() {
  int word = 0, got = -1, flag = 0, index = -1;
  MPI_Request requests[2];
  MPI_Send_init(&word, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[1]);
  for (word = 0; word < kRounds; ++word) {
    MPI_Start(&requests[1]);
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    flag = 0;
    while (flag == 0) MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
    CHECK(got == word);
  }
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  CHECK(index == MPI_UNDEFINED);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

void collectives() {
  const auto p = static_cast<std::size_t>(size);
  int word = 0, sum = -1;
  std::vector<int> all(p), counts(p, 1), displs;
  for (int r = size - 1; r >= 0; --r) displs.push_back(r);
  MPI_Request requests[4];
  MPI_Allreduce_init(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Allgatherv_init(&word, 1, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT,
                      MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  int from_root = -1;
  MPI_Bcast_init(&from_root, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  std::fill(counts.begin(), counts.end(), -5);  // arguments were taken at init
  for (int round = 0; round < kRounds; ++round) {
    word = rank + round;
    from_root = rank == size - 1 ? round : -1;
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == size * (size - 1) / 2 + size * round);
    CHECK(from_root == round);
    for (int r = 0; r < size; ++r) CHECK(all[static_cast<std::size_t>(size - 1 - r)] == r + round);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

}  // namespace

int main() {
  begin();
  messages();
  one_by_one();
  collectives();
  return done();
}
