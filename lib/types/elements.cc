// Counting basic elements (MPI 5.0, 5.1.11), down a type's making.
#include "types/elements.h"

#include <algorithm>

namespace tutti::types {
namespace {

Count basics_in(const Datatype& type) {
  if (type.is_basic()) return 1;
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
  if (type.is_basic()) return std::nullopt;
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
  if (left == 0 || type.is_basic()) return bytes;
  for_each_part(type, [&](const Datatype& old, Count copies) {
    const Count here = std::min(left, copies * basics_in(old));
    bytes += bytes_of_elements(old, here);
    left -= here;
    return left > 0;
  });
  return bytes;
}

}  // namespace tutti::types
