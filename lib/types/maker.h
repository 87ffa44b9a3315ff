// Maker: the only way a Datatype comes to be (inside the types room only).
#pragma once

#include "types/layout.h"

namespace tutti::types {

// The standard's numbers of the combiners (MPI 5.0, 5.1.13).
inline constexpr int kNamed = 101;
inline constexpr int kDup = 102;
inline constexpr int kContiguous = 103;
inline constexpr int kVector = 104;
inline constexpr int kHvector = 105;
inline constexpr int kIndexed = 106;
inline constexpr int kHindexed = 107;
inline constexpr int kIndexedBlock = 108;
inline constexpr int kHindexedBlock = 109;
inline constexpr int kStruct = 110;
inline constexpr int kSubarray = 111;
inline constexpr int kDarray = 112;
inline constexpr int kResized = 116;

// Everything about a type but its layout. Bounds are [begin, end) relative to its address.
struct TypeFacts {
  Count size = 0;
  Count begin = 0, end = 0;
  Count true_begin = 0, true_end = 0;
  std::uint8_t alignment = 1;
  bool marked = false;  // begin and end were set by hand
  bool basic = false;   // predefined; not inherited by types made of it
  Element element = Element::none;
};

struct Maker {
  static TypeRef make(const TypeFacts& shape, const Placed& root, Made made, Handle handle = 0);
  static TypeFacts shape(const Datatype& type);
  static void mark_large(Datatype& type);
};

// Of one type, without numbers yet.
inline Made made_of(int combiner, Datatype& old) {
  Made made;
  made.combiner = combiner;
  made.types.push_back(TypeRef::share(&old));
  return made;
}

}  // namespace tutti::types
