// Any source, any tag, probing, and matched probes.
#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

void any_source() {
  const int each = 50;
  if (rank != 0) {
    for (int i = 0; i < each; ++i) {
      const int word = value_of(rank, 0, i);
      MPI_Send(&word, 1, MPI_INT, 0, i % 5, MPI_COMM_WORLD);
    }
    return;
  }
  std::vector<int> next(static_cast<std::size_t>(size), 0);
  for (int i = 0; i < each * (size - 1); ++i) {
    int word = -1;
    MPI_Status status;
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    int& expected = next[static_cast<std::size_t>(status.MPI_SOURCE)];
    CHECK(word == value_of(status.MPI_SOURCE, 0, expected));
    CHECK(status.MPI_TAG == expected % 5);
    ++expected;
  }
  for (int r = 1; r < size; ++r) CHECK(next[static_cast<std::size_t>(r)] == each);
}

void tags_apart() {
  if (size < 2) return;
  const int tags = 6;
  if (rank == 1)
    for (int tag = 0; tag < tags; ++tag) MPI_Send(&tag, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  if (rank == 0)
    for (int tag = tags - 1; tag >= 0; --tag) {
      int word = -1;
      MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(word == tag);
    }
}

void probing() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int n : {0, 3, 5000, 200000}) {
    const std::vector<double> out(static_cast<std::size_t>(n), rank + 0.5);
    MPI_Request request;
    MPI_Isend(out.data(), n, MPI_DOUBLE, right, n % 97, MPI_COMM_WORLD, &request);
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    int count = -1;
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK(count == n && status.MPI_SOURCE == left && status.MPI_TAG == n % 97);
    std::vector<double> in(static_cast<std::size_t>(count));
    MPI_Recv(in.data(), count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    CHECK(std::all_of(in.begin(), in.end(), [left](double x) { return x == left + 0.5; }));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void nothing_there() {
  int flag = 1;
  MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
}

void matched() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int n : {0, 1, 2000, 100000}) {
    const std::vector<int> out(static_cast<std::size_t>(n), rank + n);
    MPI_Request request;
    MPI_Isend(out.data(), n, MPI_INT, right, 9, MPI_COMM_WORLD, &request);
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (n % 2 == 0) {
      MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status);
    } else {
      for (int flag = 0; flag == 0;)
        MPI_Improbe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
    }
    CHECK(message != MPI_MESSAGE_NULL);
    int flag = 1, count = -1;
    MPI_Iprobe(left, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 0);  // it was taken out of matching
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == n && status.MPI_SOURCE == left);
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    if (n % 3 == 0) {
      MPI_Mrecv(in.data(), n, MPI_INT, &message, &status);
    } else {
      MPI_Request coming;
      MPI_Imrecv(in.data(), n, MPI_INT, &message, &coming);
      MPI_Wait(&coming, &status);
    }
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == left);
    CHECK(std::all_of(in.begin(), in.end(), [=](int x) { return x == left + n; }));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Message none;
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &none, MPI_STATUS_IGNORE);
  CHECK(none == MPI_MESSAGE_NO_PROC);
  MPI_Status status;
  MPI_Mrecv(nullptr, 0, MPI_INT, &none, &status);
  CHECK(none == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
}

void cancelled() {
  int word = 0, flag = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 4321, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag != 0);
}

}  // namespace

int main() {
  begin();
  any_source();
  MPI_Barrier(MPI_COMM_WORLD);
  tags_apart();
  MPI_Barrier(MPI_COMM_WORLD);
  probing();
  nothing_there();
  matched();
  cancelled();
  return done();
}
