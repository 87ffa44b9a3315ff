// bcast: every rank is root in turn, so no root runs ahead of the others.
#include <mpi.h>

#include <algorithm>

#include "../harness/harness.h"

namespace {

class Bcast final : public bench::Case {
 public:
  std::string name() const override { return "bcast"; }

  void prepare(std::size_t bytes) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    data_.assign(bytes, 1);
  }

  void touch() override { bench::rewrite(data_); }

  void run(long iteration) override {
    MPI_Bcast(data_.data(), static_cast<int>(data_.size()), MPI_BYTE,
              static_cast<int>(iteration % size_), MPI_COMM_WORLD);
  }

  bool verify() override {
    for (int root = 0; root < std::min(size_, 4); ++root) {
      std::fill(data_.begin(), data_.end(), std::uint8_t{0});
      if (root == rank_) {
        for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = bench::byte_at(i, root);
      }
      run(root);
      for (std::size_t i = 0; i < data_.size(); ++i) {
        if (data_[i] != bench::byte_at(i, root)) return false;
      }
    }
    return true;
  }

  double bus_bytes(std::size_t bytes) const override {
    return size_ == 1 ? 0 : static_cast<double>(bytes);
  }

 private:
  int rank_ = 0, size_ = 1;
  std::vector<std::uint8_t> data_;
};

}  // namespace

int main(int argc, char** argv) {
  Bcast what;
  return bench::measure(argc, argv, what);
}
