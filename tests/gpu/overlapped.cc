// Messages that are staged are a pipeline: the receiver's GPU is given the first part before the
// sender's has given its last one, and both directions go at once. Two ranks; copies to and from
// the host take as long as the stand-in was told, so that what comes first is no luck.
#include "area.h"
#include "counted.h"

using namespace ranks;
using gpu::Kind;

namespace {

constexpr int kCount = 1 << 20, kRounds = 20;  // others use the machine, too

// Whether any of some rounds is so, as rank 0 sees it.
template <class Round>
bool is_once(const Round& round) {
  int is_so = 0;
  for (int i = 0; i < kRounds && is_so == 0; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    is_so = round() ? 1 : 0;
    MPI_Bcast(&is_so, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  return is_so == 1;
}

bool one_way(gpu::Vector<int>& memory) {
  unsigned long long first_up = gpu::counted("first_up_ns");  // from here on
  if (rank == 0) {
    MPI_Send(memory.data(), kCount, MPI_INT, 1, 0, MPI_COMM_WORLD);
    const unsigned long long last_down = gpu::counted("last_down_ns");
    MPI_Recv(&first_up, 1, MPI_UINT64_T, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return first_up < last_down;
  }
  MPI_Recv(memory.data(), kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  first_up = gpu::counted("first_up_ns");
  CHECK(first_up > 0);
  MPI_Send(&first_up, 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
  return false;
}

bool both_ways(gpu::Vector<int>& out, gpu::Vector<int>& in) {
  const unsigned long long before = gpu::counted("both_ways");
  MPI_Sendrecv(out.data(), kCount, MPI_INT, 1 - rank, 2, in.data(), kCount, MPI_INT, 1 - rank, 2,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return gpu::counted("both_ways") > before;
}

// A reduction by messages, which the GPUs fold: no vector goes to the host as a whole before.
bool reduce_both_ways(gpu::Vector<int>& out, gpu::Vector<int>& in) {
  const unsigned long long before = gpu::counted("both_ways");
  CHECK(MPI_Allreduce(out.data(), in.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
        MPI_SUCCESS);
  return gpu::counted("both_ways") > before;
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  CHECK(gpu::is_driver_counted());
  gpu::Vector<int> out(std::vector<int>(kCount, rank), Kind::device),
      one(std::vector<int>(kCount, 1), Kind::device),
      in(std::vector<int>(kCount, -1), Kind::device);
  CU(cuCtxSynchronize());
  both_ways(out, in);  // the GPUs measure their chunks
  CHECK(in.get() == std::vector<int>(kCount, 1 - rank));
  const bool is_pipeline = is_once([&] { return one_way(out); });
  CHECK(is_pipeline);
  const bool goes_both_ways = is_once([&] { return both_ways(out, in); });
  CHECK(goes_both_ways);
  const bool folds_both_ways = is_once([&] { return reduce_both_ways(one, in); });
  CHECK(folds_both_ways);
  CHECK(in.get() == std::vector<int>(kCount, size));
  return done();
}
