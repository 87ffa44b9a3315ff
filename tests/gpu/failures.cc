// What goes wrong with GPU memory: one clear error, and no job that stands still. The word says
// what.
#include "area.h"

using namespace ranks;
using gpu::Kind;

namespace {

// Known to the library while it was there, and used once more.
void freed() {
  gpu::Vector<int> memory(std::vector<int>(100, rank), Kind::device);
  const int* const data = memory.data();
  gpu::Vector<int> sums(std::vector<int>(100), Kind::host);
  MPI_Allreduce(data, sums.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums.get()[0] == size * (size - 1) / 2);
  memory.area().free();
  if (rank == 0) MPI_Send(data, 100, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
  if (rank == size - 1)
    MPI_Recv(sums.data(), 100, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Calls go on until the driver gives errors, as it was told (STANDIN_CUDA_FAIL).
void lost() {
  gpu::Vector<int> out(std::vector<int>(100000, rank), Kind::device),
      in(std::vector<int>(100000), Kind::device);
  for (int round = 0; round < 1000; ++round) {
    MPI_Sendrecv(out.data(), 100000, MPI_INT, (rank + 1) % size, 1, in.data(), 100000, MPI_INT,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(out.data(), in.data(), 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

// A team of a host would copy it before anybody could be told.
void freed_in_collective() {
  gpu::Vector<int> memory(std::vector<int>(100, rank), Kind::device);
  int* const data = memory.data();
  MPI_Bcast(data, 100, MPI_INT, 0, MPI_COMM_WORLD);
  memory.area().free();
  if (rank == size - 1) MPI_Bcast(data, 100, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

// An error that is handed back leaves the rank whole.
void returned() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  gpu::Vector<int> memory(std::vector<int>(100, 7), Kind::device);
  int* const data = memory.data();
  MPI_Request request;
  MPI_Irecv(data, 100, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  memory.area().free();
  CHECK(MPI_Send(data, 100, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(MPI_Send(data, 100, MPI_INT, rank, 1, MPI_COMM_WORLD) != MPI_SUCCESS);
  std::vector<int> out(100, 3), in(100);
  MPI_Sendrecv(out.data(), 100, MPI_INT, rank, 2, in.data(), 100, MPI_INT, rank, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(in == out);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "freed") freed();
  if (what == "freed_in_collective") freed_in_collective();
  if (what == "lost") lost();
  if (what == "returned") returned();
  return done();
}
