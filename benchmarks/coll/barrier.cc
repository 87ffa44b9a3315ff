// barrier: nobody leaves before all have come.
#include <mpi.h>

#include <chrono>
#include <thread>

#include "../harness/harness.h"

namespace {

class Barrier final : public bench::Case {
 public:
  std::string name() const override { return "barrier"; }
  bool has_sizes() const override { return false; }
  void prepare(std::size_t) override {}
  void run(long) override { MPI_Barrier(MPI_COMM_WORLD); }

  // One rank comes late, and nobody may leave before it. The others' time begins before they
  // tell it to go to sleep, so it is at least as long as the sleep.
  bool verify() override {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bool is_right = true;
    for (const int late : {0, size / 2, size - 1}) {
      int all = 0;
      const auto start = std::chrono::steady_clock::now();
      MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (rank == late) std::this_thread::sleep_for(kLate);
      run(0);
      is_right = is_right && std::chrono::steady_clock::now() - start >= kLate;
    }
    return is_right;
  }

  double bus_bytes(std::size_t) const override { return 0; }

 private:
  static constexpr std::chrono::milliseconds kLate{20};
};

}  // namespace

int main(int argc, char** argv) {
  Barrier what;
  return bench::measure(argc, argv, what);
}
