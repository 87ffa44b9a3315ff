// MPI 5.0, 3.6: flushing waits for what is in the buffer; a communicator's own buffer comes
// before the process's; detaching gives back address and size.
#include "check.h"

using namespace ranks;

namespace {

constexpr int kInts = 30000;  // too long to be sent before it is asked for

void flush_ends_when_received(MPI_Comm comm, bool on_comm) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const std::vector<int> out(kInts, rank);
  std::vector<int> in(kInts, -1);
  MPI_Request request;
  MPI_Bsend(out.data(), kInts, MPI_INT, right, 1, comm);
  if (on_comm)
    MPI_Comm_iflush_buffer(comm, &request);
  else
    MPI_Buffer_iflush(&request);
  if (size == 1) {
    int flag = 1;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 0);  // nobody receives
  }
  MPI_Recv(in.data(), kInts, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == std::vector<int>(kInts, left));
  CHECK((on_comm ? MPI_Comm_flush_buffer(comm) : MPI_Buffer_flush()) == MPI_SUCCESS);
}

}  // namespace

int main() {
  begin();
  std::vector<char> room(kInts * sizeof(int) + MPI_BSEND_OVERHEAD);
  const auto bytes = static_cast<int>(room.size());
  MPI_Request request;
  MPI_Buffer_iflush(&request);  // nothing attached: nothing to wait for
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Buffer_attach(room.data(), bytes);
  flush_ends_when_received(MPI_COMM_WORLD, false);
  flush_ends_when_received(MPI_COMM_WORLD, false);

  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
  for (int i = 0; i < 3; ++i) flush_ends_when_received(comm, true);
  void* back = nullptr;
  int size_back = -1;
  MPI_Comm_detach_buffer(comm, &back, &size_back);
  CHECK(back == MPI_BUFFER_AUTOMATIC && size_back == 0);
  MPI_Buffer_detach(&back, &size_back);
  CHECK(back == room.data() && size_back == bytes);
  MPI_Comm_free(&comm);
  return done();
}
