// What the generated library of wide calls needs: arrays of ints as arrays of large counts.
#pragma once

#include <mpi.h>

#include <limits>
#include <vector>

#include "shape.h"

namespace wide {

using namespace shape;

template <typename Wide>
class Array {
 public:
  Array(const int* numbers, int size) {
    if (numbers != nullptr) numbers_.assign(numbers, numbers + size);
    if (numbers != nullptr && size == 0) numbers_.resize(1);
  }
  const Wide* data() const { return numbers_.empty() ? nullptr : numbers_.data(); }

 private:
  std::vector<Wide> numbers_;
};

template <typename Wide, typename Narrow>
void narrow(Wide from, Narrow* to) {
  if (to == nullptr) return;
  const bool fits =
      from <= std::numeric_limits<Narrow>::max() && from >= std::numeric_limits<Narrow>::min();
  *to = fits ? static_cast<Narrow>(from) : Narrow{MPI_UNDEFINED};
}

}  // namespace wide
