// MPI 5.0, 3.8.4: a send that is marked for cancellation is received or cancelled, never neither
// and never both, also when its message has left and waits with its receiver.
#include "cancelled.h"

using namespace ranks;

namespace {

int receive(int tag) {
  int word = -1;
  MPI_Recv(&word, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return word;
}

// Of four messages alike the second and the last are taken back: the others come, in order.
void unmatched(int to) {
  const int out[4] = {10, 11, 12, 13};
  MPI_Request requests[4];
  for (int i = 0; i < 4; ++i) MPI_Isend(&out[i], 1, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[i]);
  for (const int i : {1, 3}) {
    MPI_Cancel(&requests[i]);
    CHECK(is_cancelled(&requests[i]));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(receive(1) == 10 && receive(1) == 12);
  for (const int i : {0, 2}) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  int flag = 1;
  MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
}

// A receive or a matched probe has it: too late, and it is received once.
void matched(int to) {
  const int out[2] = {20, 21};
  MPI_Request coming, going[2];
  int in = -1, probed = -1;
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &coming);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) MPI_Isend(&out[i], 1, MPI_INT, to, 2 + i, MPI_COMM_WORLD, &going[i]);
  MPI_Message message;
  MPI_Mprobe((rank + size - 1) % size, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&coming, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  for (MPI_Request& request : going) {
    MPI_Cancel(&request);
    CHECK(!is_cancelled(&request));
  }
  MPI_Mrecv(&probed, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  CHECK(in == 20 && probed == 21);
}

// Every size and layout, by every start: none is there afterwards.
void every_way(int to, int n) {
  std::vector<int> out(static_cast<std::size_t>(2 * n), 1);
  std::vector<char> room(static_cast<std::size_t>(n) * sizeof(int) + 2 * MPI_BSEND_OVERHEAD);
  MPI_Datatype sparse;
  MPI_Type_vector(n, 1, 2, MPI_INT, &sparse);
  MPI_Type_commit(&sparse);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  MPI_Request requests[5];
  MPI_Isend(out.data(), n, MPI_INT, to, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out.data(), 1, sparse, to, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Ibsend(out.data(), n, MPI_INT, to, 4, MPI_COMM_WORLD, &requests[2]);
  MPI_Send_init(out.data(), n, MPI_INT, to, 4, MPI_COMM_WORLD, &requests[3]);
  MPI_Bsend_init(out.data(), n, MPI_INT, to, 4, MPI_COMM_WORLD, &requests[4]);
  for (int i = 0; i < 5; ++i) {
    if (i >= 3) MPI_Start(&requests[i]);
    MPI_Cancel(&requests[i]);
    CHECK(is_cancelled(&requests[i]));
  }
  MPI_Request_free(&requests[3]);
  MPI_Request_free(&requests[4]);
  MPI_Type_free(&sparse);
  MPI_Barrier(MPI_COMM_WORLD);
  int flag = 1;
  MPI_Iprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  void* memory = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&memory, &bytes);
}

}  // namespace

int main() {
  begin();
  const int to = (rank + 1) % size;
  unmatched(to);
  MPI_Barrier(MPI_COMM_WORLD);
  matched(to);
  for (const int n : {1, 1000, 3000, 10000, 250000}) every_way(to, n);
  return done();
}
