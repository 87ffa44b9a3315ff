// Counting basic elements: a type is a sequence of parts, each some copies of an older type.
#include "mpi/elements.h"

#include <algorithm>

#include "mpi.h"

namespace tutti::mpi {
namespace {

using types::Count;
using types::Datatype;

// Copies of `old`, one after another in the packed stream.
struct Part {
  const Datatype* old;
  Count copies;
};

bool is_basic(const Datatype& type) {
  return type.made().types.empty();
}

// All combiners but struct have one older type, and the sizes say how often.
std::vector<Part> parts_of(const Datatype& type) {
  const types::Made& made = type.made();
  std::vector<Part> parts;
  if (made.combiner != MPI_COMBINER_STRUCT) {
    const Datatype* const old = made.types.front().get();
    parts.push_back({old, old->size() == 0 ? 0 : type.size() / old->size()});
    return parts;
  }
  const auto& numbers = made.is_large ? made.counts : made.integers;  // count, block lengths
  for (std::size_t i = 0; i < made.types.size(); ++i)
    parts.push_back({made.types[i].get(), numbers[i + 1]});
  return parts;
}

Count basics_in(const Datatype& type) {
  if (is_basic(type)) return 1;
  Count sum = 0;
  for (const Part& part : parts_of(type)) sum += part.copies * basics_in(*part.old);
  return sum;
}

}  // namespace

std::optional<Count> elements_in(const Datatype& type, Count bytes) {
  if (type.size() == 0) return bytes == 0 ? std::optional<Count>(0) : std::nullopt;
  Count sum = bytes / type.size() * basics_in(type);
  Count left = bytes % type.size();
  if (left == 0) return sum;
  if (is_basic(type)) return std::nullopt;
  for (const Part& part : parts_of(type)) {
    const Count here = std::min(left, part.copies * part.old->size());
    const auto inside = elements_in(*part.old, here);
    if (!inside) return std::nullopt;
    sum += *inside;
    left -= here;
  }
  return sum;
}

Count bytes_of(const Datatype& type, Count elements) {
  const Count basics = basics_in(type);
  if (basics == 0) return 0;
  Count bytes = elements / basics * type.size();
  Count left = elements % basics;
  if (left == 0 || is_basic(type)) return bytes;
  for (const Part& part : parts_of(type)) {
    const Count here = std::min(left, part.copies * basics_in(*part.old));
    bytes += bytes_of(*part.old, here);
    left -= here;
  }
  return bytes;
}

}  // namespace tutti::mpi
