// A rank's end while it and the others are inside a collective that NCCL works. The word says
// which: none: it is killed; "exits": it calls exit(); "aborts": MPI_Abort. Without an abort, and
// with --enable-recovery, the others get an error, and go on.
#include <chrono>
#include <csignal>
#include <thread>

#include "area.h"
#include "served.h"

using namespace ranks;
using gpu::Kind;
using gpu::Vector;

namespace {

constexpr int kStatus = 43;

void end(const std::string& how) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the call takes much longer
  if (how == "aborts") MPI_Abort(MPI_COMM_WORLD, kStatus);
  if (how == "exits") std::exit(kStatus);
  std::raise(SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  begin(how == "aborts" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
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
  CHECK(gpu::has_served(0, 1));
  std::thread ending;
  if (rank == size - 1) ending = std::thread(end, how);
  int code = MPI_SUCCESS;
  for (int calls = 0; calls < 1000 && code == MPI_SUCCESS; ++calls) code = sum();
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_PROC_ABORTED || error_class == MPI_ERR_OTHER);
  std::printf("rank %d goes on\n", rank);
  return failures == 0 ? 0 : 1;
}
