// Blocking and nonblocking messages between all pairs, in every mode and of many lengths.
#include "check.h"

using namespace ranks;

namespace {

const int kLengths[] = {0, 1, 2, 15, 16, 100, 1000, 4096, 20000, 300001};

std::vector<int> message(int from, int to, int n) {
  std::vector<int> data(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) data[static_cast<std::size_t>(i)] = value_of(from, to, i);
  return data;
}

void expect(const std::vector<int>& got, int from, int to, int n, const MPI_Status& status) {
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == n);
  CHECK(status.MPI_SOURCE == from);
  const std::vector<int> wanted = message(from, to, n);
  CHECK(std::equal(wanted.begin(), wanted.end(), got.begin()));
}

using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

// Lower rank sends first: no buffering is assumed.
void pairs(Send send) {
  for (int n : kLengths)
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      const std::vector<int> out = message(rank, peer, n);
      std::vector<int> in(static_cast<std::size_t>(n) + 1, -1);
      MPI_Status status;
      if (rank < peer) send(out.data(), n, MPI_INT, peer, n, MPI_COMM_WORLD);
      MPI_Recv(in.data(), n + 1, MPI_INT, peer, n, MPI_COMM_WORLD, &status);
      if (rank > peer) send(out.data(), n, MPI_INT, peer, n, MPI_COMM_WORLD);
      CHECK(status.MPI_TAG == n);
      expect(in, peer, rank, n, status);
    }
}

void everyone_at_once(bool synchronous) {
  for (int n : kLengths) {
    std::vector<std::vector<int>> out, in;
    std::vector<MPI_Request> requests;
    for (int peer = 0; peer < size; ++peer) {
      out.push_back(message(rank, peer, n));
      in.emplace_back(static_cast<std::size_t>(n), -1);
    }
    for (int peer = 0; peer < size; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      requests.emplace_back();
      MPI_Irecv(in[at].data(), n, MPI_INT, peer, 7, MPI_COMM_WORLD, &requests.back());
    }
    for (int peer = 0; peer < size; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      requests.emplace_back();
      (synchronous ? MPI_Issend : MPI_Isend)(out[at].data(), n, MPI_INT, peer, 7, MPI_COMM_WORLD,
                                             &requests.back());
    }
    std::vector<MPI_Status> statuses(requests.size());
    CHECK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()) ==
          MPI_SUCCESS);
    for (int peer = 0; peer < size; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      CHECK(requests[at] == MPI_REQUEST_NULL);
      expect(in[at], peer, rank, n, statuses[at]);
    }
  }
}

void around_the_ring() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int n : kLengths) {
    const std::vector<int> out = message(rank, right, n);
    std::vector<int> in(static_cast<std::size_t>(n) + 1, -1);
    MPI_Status status;
    MPI_Sendrecv(out.data(), n, MPI_INT, right, 1, in.data(), n + 1, MPI_INT, left, 1,
                 MPI_COMM_WORLD, &status);
    expect(in, left, rank, n, status);
    std::vector<int> both = message(rank, right, n);
    MPI_Sendrecv_replace(both.data(), n, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, &status);
    expect(both, left, rank, n, status);
  }
}

void nobody() {
  int word = 5;
  MPI_Status status;
  CHECK(MPI_Send(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(MPI_Recv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(word == 5 && count == 0);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Request request;
  MPI_Irecv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(request == MPI_REQUEST_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
}

// A ready send needs its receive there: the receiver says so first.
void ready() {
  if (size < 2 || rank > 1) return;
  int go = 0, word = rank == 0 ? 42 : 0;
  if (rank == 0) {
    MPI_Recv(&go, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Rsend(&word, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  } else {
    MPI_Request request;
    MPI_Irecv(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    MPI_Send(&go, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(word == 42);
  }
}

}  // namespace

int main() {
  begin();
  pairs(MPI_Send);
  pairs(MPI_Ssend);
  everyone_at_once(false);
  everyone_at_once(true);
  around_the_ring();
  nobody();
  ready();
  return done();
}
