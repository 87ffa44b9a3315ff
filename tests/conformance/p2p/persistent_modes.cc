// MPI 5.0, 3.4, 3.7.2 and 3.9: persistent sends in the buffered, ready and synchronous mode, and
// the nonblocking ready one, bring each round's words; a buffered one ends without its receiver.
#include "check.h"

using namespace ranks;

namespace {

const int kRounds = 10, kWords = 300;

void fill(std::vector<int>& words, int round, int mode) {
  for (int i = 0; i < kWords; ++i)
    words[static_cast<std::size_t>(i)] = value_of(rank, round, i) + mode;
}
void expect(const std::vector<int>& words, int from, int round, int mode) {
  for (int i = 0; i < kWords; ++i)
    CHECK(words[static_cast<std::size_t>(i)] == value_of(from, round, i) + mode);
}

// Before any receive is posted: the buffer has it.
void buffered(int right, int left) {
  std::vector<int> out(kWords), in(kWords);
  std::vector<char> room(sizeof(int) * kWords * kRounds + kRounds * MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  MPI_Request request;
  MPI_Bsend_init(out.data(), kWords, MPI_INT, right, 1, MPI_COMM_WORLD, &request);
  for (int round = 0; round < kRounds; ++round) {
    fill(out, round, 1);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (int round = 0; round < kRounds; ++round) {
    MPI_Recv(in.data(), kWords, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(in, left, round, 1);
  }
  MPI_Request_free(&request);
  void* back = nullptr;
  int size_back = 0;
  MPI_Buffer_detach(&back, &size_back);
  CHECK(back == room.data() && size_back == static_cast<int>(room.size()));
}

// Receives are posted everywhere before anyone may send in ready mode.
void ready_and_synchronous(int right, int left) {
  std::vector<int> out[3], in[3];
  MPI_Request sends[2], once = MPI_REQUEST_NULL, receives[3];
  for (int mode = 0; mode < 3; ++mode) {
    out[mode].resize(kWords);
    in[mode].resize(kWords);
    MPI_Recv_init(in[mode].data(), kWords, MPI_INT, left, mode, MPI_COMM_WORLD, &receives[mode]);
  }
  MPI_Rsend_init(out[0].data(), kWords, MPI_INT, right, 0, MPI_COMM_WORLD, &sends[0]);
  MPI_Ssend_init(out[1].data(), kWords, MPI_INT, right, 1, MPI_COMM_WORLD, &sends[1]);
  for (int round = 0; round < kRounds; ++round) {
    for (int mode = 0; mode < 3; ++mode) fill(out[mode], round, mode);
    MPI_Startall(3, receives);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Startall(2, sends);
    MPI_Irsend(out[2].data(), kWords, MPI_INT, right, 2, MPI_COMM_WORLD, &once);
    CHECK(once != MPI_REQUEST_NULL);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    MPI_Wait(&once, MPI_STATUS_IGNORE);
    MPI_Waitall(3, receives, MPI_STATUSES_IGNORE);
    for (int mode = 0; mode < 3; ++mode) expect(in[mode], left, round, mode);
  }
  for (MPI_Request& request : sends) MPI_Request_free(&request);
  for (MPI_Request& request : receives) MPI_Request_free(&request);
}

}  // namespace

int main() {
  begin();
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  buffered(right, left);
  ready_and_synchronous(right, left);
  return done();
}
