// threads_rate: time per 8-byte message of a rank that sends from several threads at once.
//
//   threads_rate [FORM] [options]
//
// same: two ranks, each thread sends to a thread of its own on the other rank, all by one
// communicator, tags tell them apart. own: the same, each pair of threads with a communicator of
// its own. self: one rank, each thread sends to itself. The "size" is how many threads a rank has;
// the messages of all of them are counted, so 2 beside 1 shows what a second thread brings.
#include <mpi.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "../harness/harness.h"

namespace {

// A thread, a run: so many that meeting before and after (some 10 us) is nothing beside it.
constexpr int kMessages = 131072, kWindow = 64;

class ThreadsRate final : public bench::Case {
 public:
  explicit ThreadsRate(std::string form) : form_(std::move(form)) {}
  ~ThreadsRate() override { end_others(); }
  std::string name() const override { return "threads_rate " + form_; }
  const char* default_sizes() const override { return "1:4"; }
  int ranks() const override { return is_self() ? 1 : 2; }
  bool has_threads() const override { return true; }
  double operations() const override { return static_cast<double>(threads_ * kMessages); }
  double bus_bytes(std::size_t) const override { return 0; }

  void prepare(std::size_t threads) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    end_others();
    threads_ = threads;
    while (comms_.size() < threads) {
      comms_.push_back(MPI_COMM_WORLD);
      if (form_ != "same") MPI_Comm_dup(MPI_COMM_WORLD, &comms_.back());
    }
    pthread_barrier_init(&meeting_, nullptr, static_cast<unsigned>(threads));
    for (std::size_t i = 1; i < threads; ++i)
      others_.emplace_back([this, i] { serve(static_cast<int>(i)); });
  }

  void run(long) override {
    pthread_barrier_wait(&meeting_);
    one_thread(0);
    pthread_barrier_wait(&meeting_);
  }

  bool verify() override {
    wrong_ = false;
    run(0);
    return !wrong_;
  }

 private:
  bool is_self() const { return form_ == "self"; }
  void serve(int me) {
    for (;;) {
      pthread_barrier_wait(&meeting_);
      if (is_over_) return;
      one_thread(me);
      pthread_barrier_wait(&meeting_);
    }
  }
  void end_others() {
    if (threads_ == 0) return;
    is_over_ = true;
    pthread_barrier_wait(&meeting_);
    for (std::thread& other : others_) other.join();
    others_.clear();
    is_over_ = false;
    pthread_barrier_destroy(&meeting_);
    threads_ = 0;
  }
  void one_thread(int me) { is_self() ? to_itself(me) : to_the_other(me); }

  void to_the_other(int me) {
    const MPI_Comm comm = comms_[static_cast<std::size_t>(me)];
    std::int64_t words[kWindow];
    MPI_Request requests[kWindow];
    for (int done = 0; done < kMessages; done += kWindow) {
      for (int i = 0; i < kWindow; ++i) {
        words[i] = rank_ == 0 ? done + i : -1;
        if (rank_ == 0)
          MPI_Isend(&words[i], 1, MPI_INT64_T, 1, me, comm, &requests[i]);
        else
          MPI_Irecv(&words[i], 1, MPI_INT64_T, 0, me, comm, &requests[i]);
      }
      MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
      check(words, done);
      // The other side may run ahead by one window.
      char answer = 0;
      if (rank_ == 0)
        MPI_Recv(&answer, 1, MPI_CHAR, 1, me, comm, MPI_STATUS_IGNORE);
      else
        MPI_Send(&answer, 1, MPI_CHAR, 0, me, comm);
    }
  }

  void to_itself(int me) {
    const MPI_Comm comm = comms_[static_cast<std::size_t>(me)];
    std::int64_t words[kWindow], copies[kWindow];
    MPI_Request requests[2 * kWindow];
    for (int done = 0; done < kMessages; done += kWindow) {
      for (int i = 0; i < kWindow; ++i)
        MPI_Irecv(&copies[i], 1, MPI_INT64_T, 0, me, comm, &requests[i]);
      for (int i = 0; i < kWindow; ++i) {
        words[i] = done + i;
        copies[i] = -1;
        MPI_Isend(&words[i], 1, MPI_INT64_T, 0, me, comm, &requests[kWindow + i]);
      }
      MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
      check(copies, done);
    }
  }

  void check(const std::int64_t* words, int done) {
    for (int i = 0; i < kWindow; ++i)
      if (words[i] != done + i) wrong_ = true;
  }

  std::string form_;
  std::vector<MPI_Comm> comms_;
  pthread_barrier_t meeting_{};  // of the threads, before and after each run
  std::vector<std::thread> others_;
  std::atomic<bool> is_over_ = false;
  int rank_ = 0;
  std::size_t threads_ = 0;
  std::atomic<bool> wrong_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const bool has_form = argc > 1 && argv[1][0] != '-';
  const std::string form = has_form ? argv[1] : "same";
  if (form != "same" && form != "own" && form != "self") {
    std::fprintf(stderr, "usage: threads_rate [same|own|self] [options]\n");
    return 2;
  }
  ThreadsRate what(form);
  if (has_form) argv[1] = argv[0];
  return bench::measure(argc - has_form, argv + has_form, what);
}
