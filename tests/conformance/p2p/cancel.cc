// MPI 5.0, 3.8.4: a request that is marked for cancellation ends, as cancelled or as if nothing
// had been said, and MPI_Test_cancelled tells which.
#include "cancelled.h"

using namespace ranks;

namespace {

void receive() {
  int word = 5;
  MPI_Request request;
  MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  CHECK(is_cancelled(&request) && word == 5);
  MPI_Irecv(&word, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  const int out = 6;
  MPI_Send(&out, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
  int there = 0;
  while (there == 0) MPI_Request_get_status(request, &there, MPI_STATUS_IGNORE);
  MPI_Cancel(&request);  // too late
  CHECK(!is_cancelled(&request) && word == 6);
}

// Nobody will ever receive it, and its wait ends all the same.
void send_to(int peer, int n) {
  const std::vector<int> out(static_cast<std::size_t>(n), 1);
  MPI_Request request;
  MPI_Issend(out.data(), n, MPI_INT, peer, 2, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  CHECK(is_cancelled(&request));
  int flag = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

void persistent() {
  int word = 5;
  MPI_Request request;
  MPI_Recv_init(&word, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&request);
    MPI_Cancel(&request);
    CHECK(is_cancelled(&request) && request != MPI_REQUEST_NULL);
  }
  MPI_Request_free(&request);
}

}  // namespace

int main() {
  begin();
  receive();
  for (const int n : {1, 100000}) send_to((rank + 1) % size, n);
  persistent();
  return done();
}
