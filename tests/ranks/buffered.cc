// Buffered sends: they return before anybody receives, as long as the buffer has room.
#include "check.h"

using namespace ranks;

namespace {

void everyone_sends_first(MPI_Comm comm) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  std::vector<double> out(5000), in(5000);
  for (int i = 0; i < 8; ++i) {
    std::fill(out.begin(), out.end(), rank + i * 0.5);
    MPI_Bsend(out.data(), 5000, MPI_DOUBLE, right, i, comm);
  }
  MPI_Request request;
  MPI_Ibsend(out.data(), 1, MPI_DOUBLE, right, 8, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 7; i >= 0; --i) {
    MPI_Recv(in.data(), 5000, MPI_DOUBLE, left, i, comm, MPI_STATUS_IGNORE);
    CHECK(in == std::vector<double>(5000, left + i * 0.5));
  }
  MPI_Recv(in.data(), 1, MPI_DOUBLE, left, 8, comm, MPI_STATUS_IGNORE);
  MPI_Buffer_flush();
}

void room() {
  int each = 0;
  MPI_Pack_size(5000, MPI_DOUBLE, MPI_COMM_WORLD, &each);
  const int bytes = 9 * (each + MPI_BSEND_OVERHEAD);
  std::vector<char> buffer(static_cast<std::size_t>(bytes));
  MPI_Buffer_attach(buffer.data(), bytes);
  for (int round = 0; round < 5; ++round) everyone_sends_first(MPI_COMM_WORLD);
  void* back = nullptr;
  int size_back = 0;
  MPI_Buffer_detach(&back, &size_back);
  CHECK(back == buffer.data() && size_back == bytes);
}

void too_little() {
  char small[100];
  std::vector<char> message(101);
  CHECK(class_of(MPI_Bsend(small, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  MPI_Buffer_attach(small, 100);
  CHECK(class_of(MPI_Bsend(message.data(), 101, MPI_CHAR, rank, 0, MPI_COMM_WORLD)) ==
        MPI_ERR_BUFFER);
  void* back = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&back, &bytes);
}

void without_limit() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
  everyone_sends_first(comm);
  MPI_Comm_free(&comm);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  room();
  too_little();
  without_limit();
  return done();
}
