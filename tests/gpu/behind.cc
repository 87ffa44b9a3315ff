// A long message comes in frames into the memory of a GPU whose default stream stands still until a
// later message has come: that is not held up.
#include <unistd.h>

#include <atomic>

#include "area.h"

using namespace ranks;
using gpu::Kind;

namespace {

constexpr int kCount = 16 << 20;  // four times what is kept on its way into a GPU

void send() {
  const gpu::Vector<int> memory(std::vector<int>(kCount, 7), Kind::device);
  const int goes = 1;
  MPI_Request request;
  MPI_Isend(memory.data(), kCount, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
  int flag = 0;
  for (int looks = 0; looks < 2000 && flag == 0; ++looks) {  // as much as the receiver takes
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    ::usleep(1000);
  }
  MPI_Send(&goes, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void receive() {
  static std::atomic<bool> has_come{false};
  const auto stand = [](void*) {
    while (!has_come.load()) ::usleep(100);
  };
  gpu::Vector<int> memory(std::vector<int>(kCount, -1), Kind::device);
  CU(cuCtxSynchronize());
  CU(cuLaunchHostFunc(nullptr, stand, nullptr));
  int goes = 0;
  MPI_Request request;
  MPI_Irecv(memory.data(), kCount, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
  MPI_Recv(&goes, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  has_come.store(true);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(memory.get() == std::vector<int>(kCount, 7));
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  rank == 0 ? send() : receive();
  return done();
}
