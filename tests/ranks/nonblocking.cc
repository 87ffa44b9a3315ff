// Many operations under way at once: collectives among messages, and every wait and test call.
#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

void collectives_at_once() {
  const int n = 200;
  std::vector<int> sums(n, -1), word(n), all(static_cast<std::size_t>(size * n), -1);
  std::vector<MPI_Request> requests(n);
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    word[at] = rank + i;
    if (i % 3 == 0)
      MPI_Iallreduce(&word[at], &sums[at], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[at]);
    else if (i % 3 == 1)
      MPI_Iallgather(&word[at], 1, MPI_INT, &all[static_cast<std::size_t>(i * size)], 1, MPI_INT,
                     MPI_COMM_WORLD, &requests[at]);
    else
      MPI_Ibarrier(MPI_COMM_WORLD, &requests[at]);
  }
  // Messages and a blocking collective pass in between.
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(got == left);
  MPI_Barrier(MPI_COMM_WORLD);
  std::reverse(requests.begin(), requests.end());
  MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0) CHECK(sums[static_cast<std::size_t>(i)] == size * (size - 1) / 2 + size * i);
    for (int r = 0; i % 3 == 1 && r < size; ++r)
      CHECK(all[static_cast<std::size_t>(i * size + r)] == r + i);
  }
}

struct Ring {
  static constexpr int n = 24;
  std::vector<int> out, in;
  std::vector<MPI_Request> receives, sends;
  Ring() : out(n), in(n, -1), receives(n), sends(n) {
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      out[at] = value_of(rank, right, i);
      MPI_Irecv(&in[at], 1, MPI_INT, left, i, MPI_COMM_WORLD, &receives[at]);
      MPI_Isend(&out[at], 1, MPI_INT, right, i, MPI_COMM_WORLD, &sends[at]);
    }
  }
  void expect(int i, const MPI_Status& status) const {
    const int left = (rank + size - 1) % size;
    CHECK(in[static_cast<std::size_t>(i)] == value_of(left, rank, i));
    CHECK(status.MPI_TAG == i && status.MPI_SOURCE == left);
  }
  void end() { MPI_Waitall(n, sends.data(), MPI_STATUSES_IGNORE); }
};

void wait_any() {
  Ring ring;
  std::vector<bool> seen(Ring::n, false);
  for (int i = 0; i < Ring::n; ++i) {
    int index = -1;
    MPI_Status status;
    MPI_Waitany(Ring::n, ring.receives.data(), &index, &status);
    CHECK(index >= 0 && index < Ring::n && !seen[static_cast<std::size_t>(index)]);
    seen[static_cast<std::size_t>(index)] = true;
    ring.expect(index, status);
  }
  int index = 0;
  MPI_Waitany(Ring::n, ring.receives.data(), &index, MPI_STATUS_IGNORE);
  CHECK(index == MPI_UNDEFINED);
  ring.end();
}

void some(bool wait) {
  Ring ring;
  int left = Ring::n;
  while (left > 0) {
    int count = 0, indices[Ring::n];
    MPI_Status statuses[Ring::n];
    wait ? MPI_Waitsome(Ring::n, ring.receives.data(), &count, indices, statuses)
         : MPI_Testsome(Ring::n, ring.receives.data(), &count, indices, statuses);
    CHECK(count != MPI_UNDEFINED && (count > 0 || !wait));
    for (int i = 0; i < count; ++i) ring.expect(indices[i], statuses[i]);
    left -= count;
  }
  int count = 0, indices[Ring::n];
  MPI_Testsome(Ring::n, ring.receives.data(), &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == MPI_UNDEFINED);
  ring.end();
}

void test_all_and_any() {
  Ring ring;
  int flag = 0;
  std::vector<MPI_Status> statuses(Ring::n);
  while (flag == 0) MPI_Testall(Ring::n, ring.receives.data(), &flag, statuses.data());
  for (int i = 0; i < Ring::n; ++i) ring.expect(i, statuses[static_cast<std::size_t>(i)]);
  ring.end();
  MPI_Barrier(MPI_COMM_WORLD);
  Ring again;
  for (int done = 0; done < Ring::n;) {
    int index = -1;
    MPI_Status status;
    MPI_Testany(Ring::n, again.receives.data(), &index, &flag, &status);
    if (flag == 0) continue;
    again.expect(index, status);
    ++done;
  }
  again.end();
}

void test_and_status() {
  Ring ring;
  for (int i = 0; i < Ring::n; ++i) {
    MPI_Request& request = ring.receives[static_cast<std::size_t>(i)];
    int flag = 0;
    MPI_Status status;
    while (flag == 0) MPI_Request_get_status(request, &flag, &status);
    CHECK(request != MPI_REQUEST_NULL);
    ring.expect(i, status);
    flag = 0;
    while (flag == 0) MPI_Test(&request, &flag, &status);
    CHECK(request == MPI_REQUEST_NULL);
    ring.expect(i, status);
    MPI_Test(&request, &flag, &status);
    CHECK(flag != 0 && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  }
  ring.end();
}

// A freed send still arrives.
void freed() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  static std::vector<int> out(100000, 6);
  std::vector<int> in(100000, -1);
  MPI_Request request;
  MPI_Isend(out.data(), 100000, MPI_INT, right, 3, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Recv(in.data(), 100000, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == out);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main() {
  begin();
  collectives_at_once();
  wait_any();
  some(true);
  some(false);
  test_all_and_any();
  test_and_status();
  freed();
  return done();
}
