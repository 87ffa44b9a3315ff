// What goes wrong between GPUs of one host. The word says what; "killed" wants --enable-recovery.
#include <cstdlib>

#include "killed.h"

using namespace ranks;
using gpu::Kind;

namespace {

void killed(int dying) {
  const int n = 2000000, other = 1 - rank;
  gpu::Vector<int> out(std::vector<int>(n, rank), Kind::device),
      in(std::vector<int>(n), Kind::device);
  gpu::until_killed(dying, 5, std::chrono::milliseconds(30), [&] {
    return MPI_Sendrecv(out.data(), n, MPI_INT, other, 1, in.data(), n, MPI_INT, other, 1,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

// Given back before its receiver has asked for it: an error, and no job that stands still. Or all
// is well, where the system keeps memory that others have a descriptor of.
void freed_while_exported(Kind kind) {
  const int n = 100000;
  if (rank == 0) {
    gpu::Vector<int> memory(std::vector<int>(n, 1), kind);
    MPI_Request request;
    MPI_Isend(memory.data(), n, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    for (int i = 0, flag = 0; i < 1000; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    memory.area().free();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    gpu::Vector<int> memory(std::vector<int>(n, 2), Kind::device);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(memory.data(), n, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(memory.get() == std::vector<int>(n, 1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "killed") {
    killed(argc > 2 ? std::atoi(argv[2]) : 0);
    return failures == 0 ? 0 : 1;  // the other is gone: no end together
  }
  if (what == "freed") freed_while_exported(Kind::device);
  if (what == "unmapped") freed_while_exported(Kind::shareable_mapped);
  if (what == "freed_in_pool") freed_while_exported(Kind::shareable_pool);
  return done();
}
