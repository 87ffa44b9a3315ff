// Messages of one pair on one communicator match in the order they were sent, whatever their
// lengths, and however many of them nobody waited for yet.
#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

int length_of(int i) {
  const int lengths[] = {1, 60000, 7, 3000, 0, 250000, 2, 500};
  return lengths[i % 8];
}

std::vector<int> body_of(int i) {
  return std::vector<int>(static_cast<std::size_t>(std::max(length_of(i), 1)), i);
}

// Every rank sends 40 messages of mixed lengths to its right; some receives are late.
void mixed_lengths() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size, n = 40;
  std::vector<std::vector<int>> out;
  std::vector<MPI_Request> requests(n);
  for (int i = 0; i < n; ++i) {
    out.push_back(body_of(i));
    MPI_Isend(out.back().data(), length_of(i), MPI_INT, right, 5, MPI_COMM_WORLD,
              &requests[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < n; ++i) {
    std::vector<int> in(300000, -1);
    MPI_Status status;
    MPI_Recv(in.data(), 300000, MPI_INT, i % 3 == 0 ? MPI_ANY_SOURCE : left, 5, MPI_COMM_WORLD,
             &status);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == length_of(i));
    CHECK(std::all_of(in.begin(), in.begin() + count, [i](int x) { return x == i; }));
  }
  MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE);
}

// A flood that the receiver looks at last, in reverse order of tags.
void flood() {
  const int n = 2000;
  if (rank != 0) {
    for (int i = 0; i < n; ++i) MPI_Send(&i, 1, MPI_INT, 0, i % 2, MPI_COMM_WORLD);
    return;
  }
  for (int tag = 1; tag >= 0; --tag)
    for (int from = size - 1; from > 0; --from)
      for (int i = tag; i < n; i += 2) {
        int word = -1;
        MPI_Recv(&word, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(word == i);
      }
}

// Receives posted in order are filled in order; the last can be waited for first.
void posted_in_order() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size, n = 16;
  std::vector<int> in(n, -1);
  std::vector<MPI_Request> requests(n);
  for (int i = 0; i < n; ++i)
    MPI_Irecv(&in[static_cast<std::size_t>(i)], 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD,
              &requests[static_cast<std::size_t>(i)]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) MPI_Send(&i, 1, MPI_INT, right, i, MPI_COMM_WORLD);
  for (int i = n - 1; i >= 0; --i) {
    MPI_Status status;
    MPI_Wait(&requests[static_cast<std::size_t>(i)], &status);
    CHECK(in[static_cast<std::size_t>(i)] == i && status.MPI_TAG == i);
  }
}

}  // namespace

int main() {
  begin();
  mixed_lengths();
  MPI_Barrier(MPI_COMM_WORLD);
  flood();
  MPI_Barrier(MPI_COMM_WORLD);
  posted_in_order();
  return done();
}
