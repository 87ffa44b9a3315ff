// bounds.cc: see bounds.h.
#include "types/bounds.h"

#include <algorithm>

namespace tutti::types {

void Bounds::add(const Datatype& type, Count count, Count lowest, Count highest) {
  const TypeFacts part = Maker::shape(type);
  if (count == 0 || (part.size == 0 && !part.marked)) return;
  Range& range = part.marked ? marked_ : plain_;
  range.cover(plus(lowest, part.begin), plus(highest, part.end));
  shape_.alignment = std::max(shape_.alignment, part.alignment);
  if (part.size == 0) return;
  shape_.element =
      shape_.size == 0 || shape_.element == part.element ? part.element : Element::none;
  shape_.size = plus(shape_.size, times(count, part.size));
  truth_.cover(plus(lowest, part.true_begin), plus(highest, part.true_end));
}

void Bounds::add_row(const Datatype& type, Count count, Count offset, Count stride) {
  if (count == 0) return;
  const Count last = plus(offset, times(count - 1, stride));
  add(type, count, std::min(offset, last), std::max(offset, last));
}

void Bounds::set(Count begin, Count end) {
  marked_ = {true, begin, end};
}

Result<TypeFacts> Bounds::finish() {
  const Range range = marked_.any ? marked_ : plain_;
  shape_.marked = marked_.any;
  shape_.begin = range.begin;
  shape_.end = range.end;
  shape_.true_begin = truth_.begin;
  shape_.true_end = truth_.end;
  Count extent = 0;
  overflow_ |= __builtin_sub_overflow(range.end, range.begin, &extent);
  if (!shape_.marked && shape_.alignment > 1) {
    const Count over = extent % shape_.alignment;
    if (over != 0) shape_.end = plus(shape_.end, shape_.alignment - over);
  }
  Count ignored = 0;
  overflow_ |= __builtin_sub_overflow(shape_.end, shape_.begin, &ignored);
  overflow_ |= __builtin_sub_overflow(truth_.end, truth_.begin, &ignored);
  if (overflow_) {
    return fail(Code::value_too_large,
                "the datatype's size, bounds or displacements do not fit in 64 bits");
  }
  return shape_;
}

}  // namespace tutti::types
