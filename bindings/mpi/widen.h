// Integer arrays of the small interface as 64-bit numbers, and results narrowed back.
//
// Arrays that are 64 bits wide already are passed through. Up to 64 numbers need no memory.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>

#include "mpi.h"
#include "types/types.h"

namespace tutti::mpi {

using types::Count;

class WidenedCounts {
 public:
  WidenedCounts(const int* numbers, Count size) : size_(static_cast<std::size_t>(size)) {
    if (numbers == nullptr) size_ = 0;
    Count* wide = few_;
    if (size_ > kFew) {
      many_ = std::make_unique<Count[]>(size_);
      wide = many_.get();
    }
    for (std::size_t i = 0; i < size_; ++i) wide[i] = numbers[i];
    data_ = wide;
  }
  WidenedCounts(const Count* numbers, Count size)
      : data_(numbers), size_(numbers == nullptr ? 0 : static_cast<std::size_t>(size)) {}
  WidenedCounts(const WidenedCounts&) = delete;
  WidenedCounts& operator=(const WidenedCounts&) = delete;

  std::span<const Count> span() const { return {data_, size_}; }

 private:
  static constexpr std::size_t kFew = 64;
  Count few_[kFew];
  std::unique_ptr<Count[]> many_;
  const Count* data_ = nullptr;
  std::size_t size_;
};

// MPI_UNDEFINED where an int cannot hold the result (MPI 5.0, 5.1.5 and 5.1.11).
inline int narrow(Count wide) {
  const bool fits =
      wide <= std::numeric_limits<int>::max() && wide >= std::numeric_limits<int>::min();
  return fits ? static_cast<int>(wide) : MPI_UNDEFINED;
}

}  // namespace tutti::mpi
