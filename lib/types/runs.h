// runs.h: a type's element as runs of bytes, for devices that keep them (part of this room's door).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "types/types.h"

namespace tutti::types {

struct ElementRun {
  Count offset, bytes;
};
// In stream order, counted from the element's origin. False: there are more than `most`.
bool element_runs(const Datatype& type, std::size_t most, std::vector<ElementRun>* runs);
// What types have in common whose elements have the same runs; it is nothing else while it is held.
// The origin is counted from the element's address.
std::shared_ptr<const void> layout_of(const Datatype& type, Count* origin = nullptr);

}  // namespace tutti::types
