// polled: every rank exchanges messages with both neighbours on a ring and asks for their end with
// MPI_Testall in a loop, as programs do that have other work meanwhile. Where ranks share cores it
// shows whether one that asks in vain lets those run that it waits for.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <vector>

#include "../harness/harness.h"

namespace {

class Polled final : public bench::Case {
 public:
  std::string name() const override { return "polled"; }

  void prepare(std::size_t bytes) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    mine_.assign(bytes, static_cast<char>(rank_));
    for (auto& theirs : theirs_) theirs.assign(bytes, -1);
  }

  void run(long) override {
    const std::array<int, 2> neighbours{(rank_ + 1) % size_, (rank_ + size_ - 1) % size_};
    const int count = static_cast<int>(mine_.size());
    std::array<MPI_Request, 4> requests{};
    for (std::size_t i = 0; i < 2; ++i) {
      const int tag = static_cast<int>(i);  // that of the direction it came from
      MPI_Irecv(theirs_[i].data(), count, MPI_CHAR, neighbours[i], tag, MPI_COMM_WORLD,
                &requests[i]);
      MPI_Isend(mine_.data(), count, MPI_CHAR, neighbours[i], 1 - tag, MPI_COMM_WORLD,
                &requests[2 + i]);
    }
    int done = 0;
    while (done == 0) MPI_Testall(4, requests.data(), &done, MPI_STATUSES_IGNORE);
  }

  bool verify() override {
    for (auto& theirs : theirs_) std::fill(theirs.begin(), theirs.end(), -1);
    run(0);
    const auto is_all = [](const std::vector<char>& bytes, int from) {
      return std::all_of(bytes.begin(), bytes.end(),
                         [=](char byte) { return byte == static_cast<char>(from); });
    };
    return is_all(theirs_[0], (rank_ + 1) % size_) &&
           is_all(theirs_[1], (rank_ + size_ - 1) % size_);
  }

  double bus_bytes(std::size_t) const override { return 0; }

 private:
  int rank_ = 0, size_ = 1;
  std::vector<char> mine_;
  std::array<std::vector<char>, 2> theirs_;
};

}  // namespace

int main(int argc, char** argv) {
  Polled what;
  return bench::measure(argc, argv, what);
}
