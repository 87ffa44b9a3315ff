// Bounds: works out size and bounds of a type while its parts are added (inside this room).
//
// MPI 5.0, 5.1.6: bounds set by hand (resized, subarray, darray) win over those that follow
// from the data, in every type made of such a type; without them the extent is rounded up to
// the strictest alignment inside. Parts are linear in each index, so covering the first and
// the last element of every index covers all. Overflow is remembered and reported at the end.
#pragma once

#include "types/maker.h"

namespace tutti::types {

class Bounds {
 public:
  Count plus(Count a, Count b) {
    Count sum = 0;
    overflow_ |= __builtin_add_overflow(a, b, &sum);
    return sum;
  }
  Count times(Count a, Count b) {
    Count product = 0;
    overflow_ |= __builtin_mul_overflow(a, b, &product);
    return product;
  }

  // `count` elements of `type` are inside; the offsets of all lie in [lowest, highest], and
  // both of these occur.
  void add(const Datatype& type, Count count, Count lowest, Count highest);
  // `count` elements from `offset` on, `stride` apart.
  void add_row(const Datatype& type, Count count, Count offset, Count stride);
  void set(Count begin, Count end);  // by hand

  Result<TypeFacts> finish();

 private:
  struct Range {
    bool any = false;
    Count begin = 0, end = 0;
    void cover(Count from, Count to) {
      begin = any && begin < from ? begin : from;
      end = any && end > to ? end : to;
      any = true;
    }
  };
  Range plain_, marked_, truth_;
  TypeFacts shape_;
  bool overflow_ = false;
};

}  // namespace tutti::types
