// How often rank 1 asks the driver to open what rank 0 sends from allocations that are new each
// time, and is refused. Argument: so often. All arrives.
#include <cstdlib>
#include <memory>

#include "area.h"
#include "counted.h"

using namespace ranks;
using gpu::Kind;

int main(int, char** argv) {
  begin();
  gpu::begin();
  constexpr int kMessages = 10, kCount = 100'000;
  std::vector<std::unique_ptr<gpu::Vector<int>>> all;
  const auto before = gpu::counted("cuIpcOpenMemHandle");
  for (int i = 0; i < kMessages; ++i) {
    const std::vector<int> sent(kCount, i);
    all.push_back(std::make_unique<gpu::Vector<int>>(
        rank == 0 ? sent : std::vector<int>(kCount, -1), Kind::device));
    int* const data = all.back()->data();
    if (rank == 0) MPI_Send(data, kCount, MPI_INT, 1, i, MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Recv(data, kCount, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(all.back()->get() == sent);
    }
  }
  const auto asked = gpu::counted("cuIpcOpenMemHandle") - before;
  if (rank == 1) CHECK(asked == static_cast<unsigned long long>(std::atoi(argv[1])));
  return done();
}
