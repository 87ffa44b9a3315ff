// A job that uses no GPU has neither the driver nor NCCL nor NVML in its processes, although the
// loader would find them (the stand-ins are on LD_LIBRARY_PATH).
#include <fstream>
#include <string>
#include <vector>

#include "../ranks/check.h"

using namespace ranks;

namespace {

void is_mapped_nowhere(const char* when) {
  std::ifstream maps("/proc/self/maps");
  int lines = 0;
  for (std::string line; std::getline(maps, line); ++lines)
    for (const char* const library : {"libcuda.so", "libnccl.so", "libnvidia-ml.so"}) {
      const bool is_there = line.find(library) != std::string::npos;
      CHECK(!is_there);
      if (is_there) std::fprintf(stderr, "rank %d, %s: %s\n", rank, when, line.c_str());
    }
  CHECK(lines > 0);
}

}  // namespace

int main() {
  begin();
  is_mapped_nowhere("after MPI_Init");
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (const int count : {1, 1 << 20}) {
    const auto n = static_cast<std::size_t>(count), all = n * static_cast<std::size_t>(size);
    const std::vector<int> out(n, rank);
    std::vector<int> in(n), sums(n), every(all);
    MPI_Sendrecv(out.data(), count, MPI_INT, right, 1, in.data(), count, MPI_INT, left, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == std::vector<int>(n, left));
    MPI_Allreduce(out.data(), sums.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums == std::vector<int>(n, size * (size - 1) / 2));
    MPI_Allgather(out.data(), count, MPI_INT, every.data(), count, MPI_INT, MPI_COMM_WORLD);
    CHECK(every.back() == size - 1);
  }
  is_mapped_nowhere("after calls");
  return done();
}
