// latency: half the round trip of a message between two ranks.
#include <mpi.h>

#include <algorithm>

#include "../harness/harness.h"

namespace {

class Latency final : public bench::Case {
 public:
  std::string name() const override { return "latency"; }
  int ranks() const override { return 2; }
  double operations() const override { return 2; }
  double bus_bytes(std::size_t bytes) const override { return static_cast<double>(bytes); }

  void prepare(std::size_t bytes) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    out_.resize(bytes);
    in_.assign(bytes, 0);
    for (std::size_t i = 0; i < bytes; ++i) out_[i] = bench::byte_at(i, rank_);
  }

  void touch() override { bench::rewrite(out_), bench::rewrite(in_); }

  void run(long) override {
    if (rank_ == 0) {
      send(1);
      receive(1);
    } else {
      receive(0);
      send(0);
    }
  }

  bool verify() override {
    const bool was_right = is_right();
    std::fill(in_.begin(), in_.end(), std::uint8_t{0});
    run(0);
    return was_right && is_right();
  }

 private:
  void send(int to) {
    MPI_Send(out_.data(), static_cast<int>(out_.size()), MPI_BYTE, to, 1, MPI_COMM_WORLD);
  }
  void receive(int from) {
    MPI_Recv(in_.data(), static_cast<int>(in_.size()), MPI_BYTE, from, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  bool is_right() const {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (in_[i] != bench::byte_at(i, 1 - rank_)) return false;
    }
    return true;
  }

  int rank_ = 0;
  std::vector<std::uint8_t> in_, out_;
};

}  // namespace

int main(int argc, char** argv) {
  Latency what;
  return bench::measure(argc, argv, what);
}
