// A rank dies inside a collective that NCCL works: the others get an error, and go on. Run with
// --enable-recovery. The first word: dies (before its call: the others are in NCCL, or on the way).
#include <csignal>
#include <thread>

#include "area.h"

using namespace ranks;
using gpu::Kind;
using gpu::Vector;

int main() {
  begin();
  gpu::begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const std::size_t n = 4000000;
  Vector<int> send(std::vector<int>(n, rank), Kind::device),
      recv(std::vector<int>(n), Kind::device);
  const auto sum = [&] {
    return MPI_Allreduce(send.data(), recv.data(), static_cast<int>(n), MPI_INT, MPI_SUM,
                         MPI_COMM_WORLD);
  };
  CHECK(sum() == MPI_SUCCESS);
  CHECK(recv.get().back() == size * (size - 1) / 2);
  std::thread killer;
  if (rank == size - 1)
    killer = std::thread([] {  // the call takes much longer
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::raise(SIGKILL);
    });
  int code = MPI_SUCCESS;
  for (int calls = 0; calls < 1000 && code == MPI_SUCCESS; ++calls) code = sum();
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_PROC_ABORTED || error_class == MPI_ERR_OTHER);
  std::printf("rank %d goes on\n", rank);
  return failures == 0 ? 0 : 1;
}
