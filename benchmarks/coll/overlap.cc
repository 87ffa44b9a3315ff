// overlap KIND: how much of a nonblocking allreduce hides behind computing.
//
// One run is three things of equal length: the collective alone (begun and waited for), the
// computing alone, and both at once (begun, computed, waited for). `hidden` is the share of the
// collective's time that the third does not show: 1 when computing hides all of it, 0 when it
// takes as long as one after the other, less where it takes longer than that.
//   busy       a fixed amount of work, so what a thread of the library takes from it counts as time
//   testing    the same, and MPI_Test now and then
//   elsewhere  the program sleeps as long, as while a GPU computes: its core is free
#include <mpi.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "../harness/harness.h"

namespace {

constexpr std::size_t kAloneRuns = 20;
constexpr std::size_t kWarmBytes = std::size_t{24} << 20;
constexpr long kTurns = 200'000;  // of the loop, to find its speed
constexpr int kTests = 16;        // in one computing

enum class Kind { busy, testing, elsewhere };
constexpr struct {
  const char* name;
  Kind kind;
} kKinds[] = {{"busy", Kind::busy}, {"testing", Kind::testing}, {"elsewhere", Kind::elsewhere}};

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

class Overlap final : public bench::Case {
 public:
  Overlap(const char* name, Kind kind) : name_(name), kind_(kind) {}
  std::string name() const override { return std::string("overlap ") + name_; }
  double bus_bytes(std::size_t) const override { return 0; }
  const char* figure_name() const override { return "hidden"; }

  void prepare(std::size_t bytes) override {
    const std::size_t count = std::max<std::size_t>(1, bytes / sizeof(double));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    mine_.assign(count, rank_ + 1.0);
    sum_.assign(count, 0);
    // Links and buffers warm first, or the computing is many times as long as the collective is
    // later.
    const std::size_t warming = std::clamp<std::size_t>(kWarmBytes / bytes, kAloneRuns, 400);
    for (std::size_t i = 0; i < warming; ++i) alone();
    std::vector<double> times;
    for (std::size_t i = 0; i < kAloneRuns; ++i) times.push_back(alone());
    double length = median(times);
    MPI_Allreduce(MPI_IN_PLACE, &length, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    length_ = length;
    double speed = 1;  // seconds of the loop; the least of some
    for (std::size_t i = 0; i < kAloneRuns; ++i) speed = std::min(speed, turn(kTurns));
    turns_ = std::lround(length / speed * static_cast<double>(kTurns));
  }
  void warmed() override {
    alone_.clear();
    computing_.clear();
    both_.clear();
  }

  void run(long) override {
    MPI_Barrier(MPI_COMM_WORLD);
    alone_.push_back(alone());
    computing_.push_back(compute(nullptr));
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Request request = begin();
    compute(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    both_.push_back(MPI_Wtime() - start);
  }

  bool verify() override {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    run(0);
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double expected = size * (size + 1) / 2.0;
    return std::all_of(sum_.begin(), sum_.end(), [&](double each) { return each == expected; });
  }

  // Of the rank that hides least.
  double figure() override {
    double hidden = (median(alone_) + median(computing_) - median(both_)) / median(alone_);
    MPI_Allreduce(MPI_IN_PLACE, &hidden, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    return std::min(hidden, 1.0);
  }

 private:
  MPI_Request begin() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(mine_.data(), sum_.data(), static_cast<int>(sum_.size()), MPI_DOUBLE, MPI_SUM,
                   MPI_COMM_WORLD, &request);
    return request;
  }

  double alone() {
    const double start = MPI_Wtime();
    MPI_Request request = begin();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return MPI_Wtime() - start;
  }

  // As long as the collective alone takes; `request` is what is under way meanwhile.
  double compute(MPI_Request* request) {
    const double start = MPI_Wtime();
    if (kind_ == Kind::busy) turn(turns_);
    if (kind_ == Kind::elsewhere) sleep();
    for (int i = 0; kind_ == Kind::testing && i < kTests; ++i) {
      turn(turns_ / kTests);
      int is_done = 0;
      if (request != nullptr) MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - start;
  }

  // Work in registers, which no cache or memory of the collective disturbs.
  double turn(long turns) {
    const double start = MPI_Wtime();
    double value = result_;
    for (long i = 0; i < turns; ++i) value = value * 0.999999 + 0.000001;
    result_ = value;
    return MPI_Wtime() - start;
  }

  void sleep() const {
    const timespec time{static_cast<time_t>(length_),
                        static_cast<long>(std::fmod(length_, 1.0) * 1e9)};
    ::nanosleep(&time, nullptr);
  }

  const char* name_;
  Kind kind_;
  int rank_ = 0;
  double length_ = 0;  // seconds of the collective alone
  long turns_ = 0;     // of the loop, that take as long
  volatile double result_ = 0.5;
  std::vector<double> mine_, sum_;
  std::vector<double> alone_, computing_, both_;
};

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);  // the kernel's own 50 us would be in short sleeps
  for (const auto& one : kKinds) {
    if (argc < 2 || std::strcmp(argv[1], one.name) != 0) continue;
    Overlap what(one.name, one.kind);
    argv[1] = argv[0];
    return bench::measure(argc - 1, argv + 1, what);
  }
  std::fprintf(stderr, "usage: overlap busy|testing|elsewhere [options]\n");
  return 2;
}
