// Lent: the payloads of one lane that their receiver keeps, in the order of their frames.
//
// Loans end in any order. The ring's room is one run from the writer's end to the reader's: what
// lies behind the oldest loan cannot be given back before that one is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::transport::shm {

class Lent {
 public:
  explicit Lent(std::size_t most) : all_(std::bit_ceil(most)) {}
  bool is_empty() const { return first_ == next_; }
  bool is_full() const { return next_ - first_ == all_.size(); }

  // One more, whose room begins behind so many units of the lane's. Its number.
  std::uint32_t begin(std::uint32_t before) {
    at(next_) = {before, false};
    return next_++;
  }
  void end(std::uint32_t number) {
    at(number).has_ended = true;
    while (!is_empty() && at(first_).has_ended) ++first_;
  }
  std::uint32_t before_oldest() const { return all_[first_ & (all_.size() - 1)].before; }

 private:
  struct Each {
    std::uint32_t before;
    bool has_ended;
  };
  Each& at(std::uint32_t number) { return all_[number & (all_.size() - 1)]; }

  std::vector<Each> all_;  // a power of two, so that numbers may wrap around
  std::uint32_t first_ = 0, next_ = 0;
};

}  // namespace tutti::transport::shm
