// message_rate: time per 8-byte message when many of different tags are under way. The "size" is
// how many: half the messages meet receives posted before, half come before their receives, and
// neither side keeps the other's order. 64 is the usual figure; 1000 beside 10 shows whether
// matching searches.
#include <mpi.h>

#include <numeric>

#include "../harness/harness.h"

namespace {

constexpr int kGo = 0, kFirstTag = 1;

class MessageRate final : public bench::Case {
 public:
  std::string name() const override { return "message_rate"; }
  const char* default_sizes() const override { return "1:1000:10"; }
  int ranks() const override { return 2; }
  double operations() const override { return 2 * static_cast<double>(words_.size()); }
  double bus_bytes(std::size_t) const override { return 0; }

  void prepare(std::size_t messages) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    requests_.assign(messages, MPI_REQUEST_NULL);
    words_.assign(messages, 0);
    step_ = messages / 2 + 1;
    while (std::gcd(step_, messages) != 1) ++step_;
  }

  void run(long) override {
    if (rank_ == 0) {
      receive_go();
      send_all();
      send_all();
      send_go();
      receive_go();
    } else {
      const std::size_t count = words_.size();
      for (std::size_t i = 0; i < count; ++i)
        MPI_Irecv(&words_[i], 1, MPI_INT64_T, 0, tag(i), MPI_COMM_WORLD, &requests_[i]);
      send_go();
      MPI_Waitall(static_cast<int>(count), requests_.data(), MPI_STATUSES_IGNORE);
      receive_go();  // behind the others: they have come by now
      for (std::size_t i = 0; i < count; ++i)
        MPI_Recv(&words_[i], 1, MPI_INT64_T, 0, tag(i), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      send_go();
    }
  }

  bool verify() override {
    for (std::int64_t& word : words_) word = 0;
    run(0);
    if (rank_ == 0) return true;
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i] != value_of(i)) return false;
    return true;
  }

 private:
  static int tag(std::size_t i) { return kFirstTag + static_cast<int>(i); }
  static std::int64_t value_of(std::size_t i) { return static_cast<std::int64_t>(i) * 131 + 7; }

  void send_all() {
    std::size_t i = 0;
    for (std::size_t sent = 0; sent < words_.size(); ++sent) {
      const std::int64_t word = value_of(i);
      MPI_Send(&word, 1, MPI_INT64_T, 1, tag(i), MPI_COMM_WORLD);
      i = (i + step_) % words_.size();
    }
  }
  void send_go() { MPI_Send(nullptr, 0, MPI_BYTE, 1 - rank_, kGo, MPI_COMM_WORLD); }
  void receive_go() {
    MPI_Recv(nullptr, 0, MPI_BYTE, 1 - rank_, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  int rank_ = 0;
  std::size_t step_ = 1;
  std::vector<std::int64_t> words_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

int main(int argc, char** argv) {
  MessageRate what;
  return bench::measure(argc, argv, what);
}
