// Counting basic elements (MPI 5.0, 5.1.11), down a type's making.
#include "types/elements.h"

#include <algorithm>

namespace tutti::types {
namespace {

// The bytes of the value of a predefined pair, which counts as if it were a struct
// (MPI 5.0, 6.9.4); 0: no pair.
Count value_of_pair(const Datatype& type) {
  const Element element = type.element();
  if (element < Element::float_int || element > Element::double_double) return 0;
  return element == Element::double_double ? type.size() / 2
                                           : type.size() - static_cast<Count>(sizeof(int));
}

Count basics_in(const Datatype& type) {
  if (type.is_basic()) return value_of_pair(type) > 0 ? 2 : 1;
  Count sum = 0;
  for_each_part(type, [&sum](const Datatype& old, Count copies) {
    sum += copies * basics_in(old);
    return true;
  });
  return sum;
}

}  // namespace

std::optional<Count> elements_in(const Datatype& type, Count bytes) {
  if (type.size() == 0) return bytes == 0 ? std::optional<Count>(0) : std::nullopt;
  std::optional<Count> sum = bytes / type.size() * basics_in(type);
  Count left = bytes % type.size();
  if (left == 0) return sum;
  if (type.is_basic())
    return left == value_of_pair(type) ? std::optional<Count>(*sum + 1) : std::nullopt;
  for_each_part(type, [&](const Datatype& old, Count copies) {
    const Count here = std::min(left, copies * old.size());
    const auto inside = elements_in(old, here);
    sum = inside ? std::optional<Count>(*sum + *inside) : std::nullopt;
    left -= here;
    return left > 0 && sum.has_value();
  });
  return sum;
}

Count bytes_of_elements(const Datatype& type, Count elements) {
  const Count basics = basics_in(type);
  if (basics == 0) return 0;
  Count bytes = elements / basics * type.size();
  Count left = elements % basics;
  if (left == 0) return bytes;
  if (type.is_basic()) return bytes + value_of_pair(type);
  for_each_part(type, [&](const Datatype& old, Count copies) {
    const Count here = std::min(left, copies * basics_in(old));
    bytes += bytes_of_elements(old, here);
    left -= here;
    return left > 0;
  });
  return bytes;
}

}  // namespace tutti::types
