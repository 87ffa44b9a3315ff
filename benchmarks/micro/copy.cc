// copy: one rank copies a message from one buffer to another, the floor under whatever moves it.
#include <mpi.h>

#include <algorithm>
#include <cstring>

#include "../harness/harness.h"

namespace {

class Copy final : public bench::Case {
 public:
  std::string name() const override { return "copy"; }
  int ranks() const override { return 1; }
  double bus_bytes(std::size_t bytes) const override { return static_cast<double>(bytes); }

  void prepare(std::size_t bytes) override {
    from_.resize(bytes);
    into_.assign(bytes, 0);
    for (std::size_t i = 0; i < bytes; ++i) from_[i] = bench::byte_at(i, 1);
  }
  void touch() override { bench::rewrite(from_), bench::rewrite(into_); }
  void run(long) override { std::memcpy(into_.data(), from_.data(), from_.size()); }
  bool verify() override {
    std::fill(into_.begin(), into_.end(), std::uint8_t{0});
    run(0);
    return into_ == from_;
  }

 private:
  std::vector<std::uint8_t> from_, into_;
};

}  // namespace

int main(int argc, char** argv) {
  Copy what;
  return bench::measure(argc, argv, what);
}
