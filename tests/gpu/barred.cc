// A program that stands still for ever: rank 0 is in a call of the driver's that waits for a
// stream, and the stream for a call of MPI's, whose work that driver does not launch meanwhile. Its
// word:
//
//   free, copy   rank 0 frees memory, or copies plainly to the host, behind the call
//   thread       a thread of rank 0 frees memory, while another one is in MPI
//   slow         rank 0 copies plainly behind another stream, which stands still until a line comes
//                in: the driver answers after all
//   late         nobody does: the stream itself stands still for longer than the driver's silence
//                is borne, and then goes on
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "counted.h"
#include "stream_area.h"

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kCount = 1000;

// Until another thread waits inside of the driver with what launches need. A real driver does not
// tell: it is given time for that.
void await_waiting_thread() {
  if (!gpu::is_driver_counted()) return std::this_thread::sleep_for(1s);
  while (gpu::counted("alone") == 0) std::this_thread::yield();
}

void stand_still(const gpu::Lane& lane, const gpu::Lane& before, const std::string& how) {
  gpu::Vector<int> elements(std::vector<int>(kCount, 1), gpu::Kind::device);
  CUdeviceptr spare = 0;
  CU(cuMemAlloc(&spare, sizeof(int)));
  MPI_Barrier(MPI_COMM_WORLD);
  gpu::Held held(lane);
  MPIX_Allreduce_enqueue(MPI_IN_PLACE, elements.data(), kCount, MPI_INT, MPI_SUM, lane.comm);
  std::optional<gpu::Held> behind;  // plain copies wait for that stream
  const bool is_slow = how == "slow" && ranks::rank == 0;
  if (is_slow) behind.emplace(before);
  const auto wait_in_the_driver = [&] {
    CU(cuCtxSetCurrent(gpu::contexts[0]));
    int there = 0;
    if (how == "copy" || how == "slow") return CU(cuMemcpyDtoH(&there, spare, sizeof there));
    CU(cuMemFree(spare));
  };
  std::thread lets_go([&] {
    if (how == "late")
      std::this_thread::sleep_for(13s);
    else if (ranks::rank == 0)
      await_waiting_thread();
    held.let_go();
    if (!is_slow) return;
    std::getchar();
    behind->let_go();
  });
  std::thread other;
  if (ranks::rank == 0 && how == "thread") {
    other = std::thread(wait_in_the_driver);
    MPI_Recv(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (ranks::rank == 0 && how != "late") {
    wait_in_the_driver();
  }
  lane.wait();
  lets_go.join();
  if (other.joinable()) other.join();
  CHECK(elements.get() == std::vector<int>(kCount, ranks::size));
}

}  // namespace

int main(int, char** argv) {
  ranks::begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
  {
    const std::string how = argv[1];
    // Plain copies wait for streams of the default kind.
    const gpu::Lane lane(MPI_COMM_WORLD,
                         how == "slow" ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    const gpu::Lane before(MPI_COMM_WORLD, CU_STREAM_DEFAULT);
    stand_still(lane, before, how);
  }
  return ranks::done();
}
