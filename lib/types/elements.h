// Elements: a type as a sequence of parts, each some copies of an older type (this room only).
//
// The flattened layout forgets where one element ends; this walk goes down a type's making
// instead. It serves counting of basic elements and conversion of their representation.
#pragma once

#include "types/maker.h"

namespace tutti::types {

// Calls visit(old, copies) for the parts in stream order, as long as it returns true.
// All combiners but struct have one older type, and the sizes say how often.
template <class Visit>
void for_each_part(const Datatype& type, Visit visit) {
  const Made& made = type.made();
  if (made.combiner != kStruct) {
    const Datatype& old = *made.types.front();
    visit(old, old.size() == 0 ? 0 : type.size() / old.size());
    return;
  }
  const auto& numbers = made.is_large ? made.counts : made.integers;  // count, block lengths
  for (std::size_t i = 0; i < made.types.size(); ++i)
    if (!visit(*made.types[i], numbers[i + 1])) return;
}

}  // namespace tutti::types
