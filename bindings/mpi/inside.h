// inside: which calls threads are in, where several may be (MPI_THREAD_MULTIPLE).
//
// All but one of them wait. The rank's watch record has room for one call: the thread that leaves
// says what another is still in. Owner: the process; touched by who holds the gate.
#pragma once

#include <bit>
#include <cstdint>

namespace tutti::mpi {

class CallsInside {
 public:
  void add(std::uint32_t function) {
    const int place = std::countr_one(taken_);
    if (place == kMost) return;
    taken_ |= std::uint64_t{1} << place;
    functions_[place] = function;
  }
  // One call of this function: which does not matter.
  void drop(std::uint32_t function) {
    for (std::uint64_t left = taken_; left != 0; left &= left - 1)
      if (functions_[std::countr_zero(left)] == function) {
        taken_ &= ~(left & -left);
        return;
      }
  }
  bool is_empty() const { return taken_ == 0; }
  std::uint32_t any() const { return functions_[std::countr_zero(taken_)]; }  // not empty

 private:
  static constexpr int kMost = 64;  // calls beyond are not kept
  std::uint64_t taken_ = 0;         // a bit a place
  std::uint32_t functions_[kMost] = {};
};

}  // namespace tutti::mpi
