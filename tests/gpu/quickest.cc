// Messages between two GPUs of a host go by the way that is quicker there, as the pair finds out:
// read by the other GPU, or through host memory. The word says which is, by the stand-in's delays.
#include "area.h"
#include "counted.h"

using namespace ranks;
using gpu::Kind;

namespace {

// How many of so many messages each way, in turn, came through host memory.
int staged(std::size_t count, int messages) {
  const int other = 1 - rank, n = static_cast<int>(count);
  gpu::Vector<int> out(std::vector<int>(count, rank), Kind::device);
  gpu::Vector<int> in(std::vector<int>(count, -1), Kind::device);
  CU(cuCtxSynchronize());
  int through_host = 0;
  for (int i = 0; i < messages; ++i) {
    const unsigned long long before = gpu::counted("from_host");
    if (rank == 0) MPI_Send(out.data(), n, MPI_INT, other, i, MPI_COMM_WORLD);
    MPI_Recv(in.data(), n, MPI_INT, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out.data(), n, MPI_INT, other, i, MPI_COMM_WORLD);
    through_host += gpu::counted("from_host") > before ? 1 : 0;
  }
  CHECK(in.get() == std::vector<int>(count, other));
  return through_host;
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  CHECK(gpu::is_driver_counted());
  const bool are_read = argc > 1 && std::string(argv[1]) == "read";
  staged(1, 1);  // the GPU measures its chunks
  // Of a size of its own each: two, sent at once where nobody asks, and one that is always offered.
  // 8 bytes are found out with 8000; copies of so few cost nothing to and from the host here.
  std::vector<std::size_t> counts{2000, 12000, 100000};
  if (!are_read) counts.push_back(2);
  for (const std::size_t count : counts) {
    constexpr int kMessages = 100, kRounds = 50;
    int is_found = 0;
    for (int round = 0; round < kRounds && is_found == 0; ++round) {  // others use the machine, too
      const int through_host = staged(count, kMessages);
      is_found = are_read ? through_host <= 15 : through_host >= kMessages - 15;
      MPI_Allreduce(MPI_IN_PLACE, &is_found, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    CHECK(is_found == 1);
  }
  // Where copies within GPUs take long a message in one piece is read all the same, from 4 MiB on.
  CHECK(staged(std::size_t{1} << 20, 40) == 0);
  return done();
}
