// Two threads of each rank make collectives of GPU memory, each on a communicator of its own, while
// a GPU has room for one of NCCL's kernels (STANDIN_NCCL_ROOM=1): calls that went to NCCL in
// another order on each rank would wait for each other for ever.
#include <thread>

#include "area.h"
#include "served.h"

using namespace ranks;
using gpu::Kind;
using gpu::Vector;

namespace {

bool sums_are_right(MPI_Comm comm, int rounds, int count) {
  bool right = true;
  Vector<int> send(std::vector<int>(static_cast<std::size_t>(count), rank + 1), Kind::device),
      recv(std::vector<int>(static_cast<std::size_t>(count)), Kind::device);
  for (int round = 0; round < rounds; ++round) {
    right = MPI_Allreduce(send.data(), recv.data(), count, MPI_INT, MPI_SUM, comm) == 0 && right;
    right = recv.get().back() == size * (size + 1) / 2 && right;
  }
  return right;
}

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  bool right[2] = {};
  std::thread other([&] {
    CU(cuCtxSetCurrent(gpu::contexts[0]));
    right[1] = sums_are_right(comms[1], 60, 70000);
  });
  right[0] = sums_are_right(comms[0], 60, 50000);
  other.join();
  CHECK(right[0]);
  CHECK(right[1]);
  const unsigned long long before = gpu::served();
  CHECK(sums_are_right(comms[0], 5, 50000));  // nobody beside it
  CHECK(gpu::served() > before || !gpu::is_counted());
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return done();
}
