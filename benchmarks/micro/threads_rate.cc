// threads_rate: time per 8-byte message of a rank that sends from several threads at once, each
// to a thread of its own on the other rank. The "size" is how many threads a rank has; the
// messages of all of them are counted, so 2 beside 1 shows what a second thread brings.
#include <mpi.h>

#include <atomic>
#include <thread>

#include "../harness/harness.h"

namespace {

constexpr int kMessages = 8192, kWindow = 64;  // a thread, a run: starting it is no matter then

class ThreadsRate final : public bench::Case {
 public:
  std::string name() const override { return "threads_rate"; }
  int ranks() const override { return 2; }
  bool has_threads() const override { return true; }
  double operations() const override { return static_cast<double>(threads_ * kMessages); }
  double bus_bytes(std::size_t) const override { return 0; }

  void prepare(std::size_t threads) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    threads_ = threads;
  }

  void run(long) override {
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads_; ++i)
      others.emplace_back([this, i] { work(static_cast<int>(i)); });
    work(0);
    for (std::thread& other : others) other.join();
  }

  bool verify() override {
    wrong_ = false;
    run(0);
    return !wrong_;
  }

 private:
  void work(int me) {
    std::int64_t words[kWindow];
    MPI_Request requests[kWindow];
    for (int done = 0; done < kMessages; done += kWindow) {
      for (int i = 0; i < kWindow; ++i) {
        words[i] = rank_ == 0 ? done + i : -1;
        if (rank_ == 0)
          MPI_Isend(&words[i], 1, MPI_INT64_T, 1, me, MPI_COMM_WORLD, &requests[i]);
        else
          MPI_Irecv(&words[i], 1, MPI_INT64_T, 0, me, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < kWindow; ++i)
        if (words[i] != done + i) wrong_ = true;
      // The other side may run ahead by one window.
      char answer = 0;
      if (rank_ == 0)
        MPI_Recv(&answer, 1, MPI_CHAR, 1, me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else
        MPI_Send(&answer, 1, MPI_CHAR, 0, me, MPI_COMM_WORLD);
    }
  }

  int rank_ = 0;
  std::size_t threads_ = 1;
  std::atomic<bool> wrong_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  ThreadsRate what;
  return bench::measure(argc, argv, what);
}
