// bandwidth: a stream of messages from rank 0 to rank 1, a window of them under way at once,
// a short answer after each window. Each message of a window has its own place to arrive.
#include <mpi.h>

#include <algorithm>

#include "../harness/harness.h"

namespace {

constexpr std::size_t kWindowBytes = std::size_t{8} << 20;
constexpr std::size_t kMostMessages = 64;

class Bandwidth final : public bench::Case {
 public:
  std::string name() const override { return "bandwidth"; }
  int ranks() const override { return 2; }
  double operations() const override { return static_cast<double>(requests_.size()); }
  double bus_bytes(std::size_t bytes) const override { return static_cast<double>(bytes); }

  void prepare(std::size_t bytes) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    const std::size_t window = std::clamp<std::size_t>(kWindowBytes / bytes, 2, kMostMessages);
    requests_.assign(window, MPI_REQUEST_NULL);
    bytes_ = bytes;
    data_.assign(rank_ == 0 ? bytes : bytes * window, 0);
    if (rank_ == 0) {
      for (std::size_t i = 0; i < bytes; ++i) data_[i] = bench::byte_at(i, 3);
    }
  }

  void touch() override { bench::rewrite(data_); }

  void run(long) override {
    const int count = static_cast<int>(bytes_);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (rank_ == 0) {
        MPI_Isend(data_.data(), count, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests_[i]);
      } else {
        MPI_Irecv(data_.data() + i * bytes_, count, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests_[i]);
      }
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    char answer = 0;
    if (rank_ == 0) {
      MPI_Recv(&answer, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(&answer, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    }
  }

  bool verify() override {
    const bool was_right = is_right();
    if (rank_ == 1) std::fill(data_.begin(), data_.end(), std::uint8_t{0});
    run(0);
    return was_right && is_right();
  }

 private:
  bool is_right() const {
    for (std::size_t i = 0; i < data_.size(); ++i) {
      if (data_[i] != bench::byte_at(i % bytes_, 3)) return false;
    }
    return true;
  }

  int rank_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::uint8_t> data_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

int main(int argc, char** argv) {
  Bandwidth what;
  return bench::measure(argc, argv, what);
}
