// allreduce: sums doubles of all ranks. Bus bandwidth: 2 (p - 1) / p of the bytes go through
// each rank's link, whatever the algorithm.
#include <mpi.h>

#include <algorithm>

#include "../harness/harness.h"

namespace {

class Allreduce final : public bench::Case {
 public:
  std::string name() const override { return "allreduce"; }

  void prepare(std::size_t bytes) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    const std::size_t count = std::max<std::size_t>(1, bytes / sizeof(double));
    in_.resize(count);
    out_.assign(count, -1);
    for (std::size_t i = 0; i < count; ++i) in_[i] = bench::value_at(i, rank_);
  }

  void touch() override { bench::rewrite(in_), bench::rewrite(out_); }

  void run(long) override {
    MPI_Allreduce(in_.data(), out_.data(), static_cast<int>(in_.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
  }

  bool verify() override {
    const bool was_right = is_right();  // what the measured runs left
    std::fill(out_.begin(), out_.end(), -1);
    run(0);
    return was_right && is_right();
  }

  double bus_bytes(std::size_t bytes) const override {
    return size_ == 1 ? 0 : static_cast<double>(bytes) * 2 * (size_ - 1) / size_;
  }

 private:
  bool is_right() const {
    const double ranks = static_cast<double>(size_) * (size_ + 1) / 2;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (out_[i] != size_ * static_cast<double>(i % 1021) + ranks) return false;
    }
    return true;
  }

  int rank_ = 0, size_ = 1;
  std::vector<double> in_, out_;
};

}  // namespace

int main(int argc, char** argv) {
  Allreduce what;
  return bench::measure(argc, argv, what);
}
