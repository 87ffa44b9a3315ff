// A program resets its GPU (cudaDeviceReset), with MPI or after it. Nothing of ours that was in the
// context is used then, which the stand-in would end the test for; new memory works, old is an
// error. The word: again (and MPI goes on with new memory), finalize (MPI ends after the reset).
#include <cstring>

#include "area.h"

using namespace ranks;
using gpu::Kind;
using gpu::Vector;

namespace {

// Messages, layouts, folds: streams, kernels, pinned memory, tables and mappings are in use.
void everything() {
  constexpr int kCount = 300000;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  Vector<int> send(std::vector<int>(kCount, rank), Kind::device),
      recv(std::vector<int>(kCount), Kind::device);
  CHECK(MPI_Sendrecv(send.data(), kCount, MPI_INT, right, 1, recv.data(), kCount, MPI_INT, left, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0);
  CHECK(recv.get() == std::vector<int>(kCount, left));
  CHECK(MPI_Allreduce(send.data(), recv.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == 0);
  CHECK(recv.get() == std::vector<int>(kCount, size * (size - 1) / 2));
  MPI_Datatype odd;
  std::vector<int> lengths(100, 1), places(100);
  for (int i = 0; i < 100; ++i) places[static_cast<std::size_t>(i)] = i * i;
  MPI_Type_indexed(100, lengths.data(), places.data(), MPI_INT, &odd);
  MPI_Type_commit(&odd);
  std::vector<int> packed(100, -1);
  CHECK(MPI_Sendrecv(send.data(), 1, odd, right, 2, packed.data(), 100, MPI_INT, left, 2,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0);
  CHECK(packed == std::vector<int>(100, left));
  MPI_Type_free(&odd);
}

void end_context() {
  CUdevice mine = 0;
  CU(cuCtxGetDevice(&mine));
  CU(cuDevicePrimaryCtxReset(mine));
}
void reset() {
  end_context();
  gpu::begin();
}

}  // namespace

int main(int, char** argv) {
  begin();
  gpu::begin();
  everything();
  if (std::strcmp(argv[1], "finalize") == 0) {
    end_context();
    return done();
  }
  for (int round = 0; round < 3; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);  // nobody reads what another frees
    reset();
    MPI_Barrier(MPI_COMM_WORLD);
    everything();
  }
  CUdeviceptr old = 0;
  CU(cuMemAlloc(&old, 4096));
  CHECK(MPI_Send(reinterpret_cast<void*>(old), 4, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == 0);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, reinterpret_cast<void*>(old), 4, MPI_INT, MPI_MAX,
                      MPI_COMM_SELF) == 0);
  reset();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Allreduce(MPI_IN_PLACE, reinterpret_cast<void*>(old), 4, MPI_INT, MPI_MAX,
                               MPI_COMM_SELF)) == MPI_ERR_BUFFER);
  everything();
  return done();
}
