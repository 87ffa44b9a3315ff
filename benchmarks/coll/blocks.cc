// blocks KIND: collectives of one block for each pair or each rank: alltoall, allgather, gather and
// scatter (every rank is root in turn), reduce_scatter_block. The size is that of a block.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "../harness/harness.h"

namespace {

enum class Kind { alltoall, allgather, gather, scatter, reduce_scatter_block };
constexpr struct {
  const char* name;
  Kind kind;
} kKinds[] = {{"alltoall", Kind::alltoall},
              {"allgather", Kind::allgather},
              {"gather", Kind::gather},
              {"scatter", Kind::scatter},
              {"reduce_scatter_block", Kind::reduce_scatter_block}};

// Everything is doubles: what rank r has for rank p begins at value_at(p * block, r).
class Blocks final : public bench::Case {
 public:
  Blocks(const char* name, Kind kind) : name_(name), kind_(kind) {}
  std::string name() const override { return name_; }

  void prepare(std::size_t bytes) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    block_ = std::max<std::size_t>(1, bytes / sizeof(double));
    const auto ranks = static_cast<std::size_t>(size_);
    const bool gives_one = kind_ == Kind::allgather || kind_ == Kind::gather;
    in_.resize(gives_one ? block_ : block_ * ranks);
    out_.assign(takes_one() ? block_ : block_ * ranks, -1);
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = bench::value_at(i, rank_);
  }

  void touch() override { bench::rewrite(in_), bench::rewrite(out_); }

  void run(long iteration) override {
    const auto count = static_cast<int>(block_);
    const double* const in = in_.data();
    switch (kind_) {
      case Kind::alltoall:
        MPI_Alltoall(in, count, MPI_DOUBLE, out_.data(), count, MPI_DOUBLE, MPI_COMM_WORLD);
        break;
      case Kind::allgather:
        MPI_Allgather(in, count, MPI_DOUBLE, out_.data(), count, MPI_DOUBLE, MPI_COMM_WORLD);
        break;
      case Kind::gather:
        MPI_Gather(in, count, MPI_DOUBLE, out_.data(), count, MPI_DOUBLE,
                   static_cast<int>(iteration % size_), MPI_COMM_WORLD);
        break;
      case Kind::scatter:
        MPI_Scatter(in, count, MPI_DOUBLE, out_.data(), count, MPI_DOUBLE,
                    static_cast<int>(iteration % size_), MPI_COMM_WORLD);
        break;
      case Kind::reduce_scatter_block:
        MPI_Reduce_scatter_block(in, out_.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    }
  }

  bool verify() override {
    std::fill(out_.begin(), out_.end(), -1);
    run(0);
    const auto me = static_cast<std::size_t>(rank_);
    if (kind_ == Kind::gather && rank_ != 0) return true;
    if (takes_one()) {
      const int givers = kind_ == Kind::scatter ? 1 : size_;
      for (std::size_t i = 0; i < block_; ++i) {
        double sum = 0;
        for (int rank = 0; rank < givers; ++rank) sum += bench::value_at(me * block_ + i, rank);
        if (out_[i] != sum) return false;
      }
      return true;
    }
    for (int rank = 0; rank < size_; ++rank) {
      const std::size_t from = kind_ == Kind::alltoall ? me * block_ : 0;
      const double* const got = out_.data() + static_cast<std::size_t>(rank) * block_;
      for (std::size_t i = 0; i < block_; ++i)
        if (got[i] != bench::value_at(from + i, rank)) return false;
    }
    return true;
  }

  double bus_bytes(std::size_t bytes) const override {
    return static_cast<double>(bytes) * (size_ - 1);
  }

 private:
  bool takes_one() const { return kind_ == Kind::scatter || kind_ == Kind::reduce_scatter_block; }

  const char* name_;
  Kind kind_;
  int rank_ = 0, size_ = 1;
  std::size_t block_ = 1;
  std::vector<double> in_, out_;
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& one : kKinds) {
    if (argc < 2 || std::strcmp(argv[1], one.name) != 0) continue;
    Blocks what(one.name, one.kind);
    argv[1] = argv[0];
    return bench::measure(argc - 1, argv + 1, what);
  }
  std::fprintf(stderr,
               "usage: blocks alltoall|allgather|gather|scatter|reduce_scatter_block [options]\n");
  return 2;
}
