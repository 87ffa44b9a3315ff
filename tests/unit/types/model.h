// Model: a datatype written down naively, byte by byte, to compare the real ones with.
//
// It follows the definitions of MPI 5.0, 5.1.2 word by word: a type map is a list of byte
// displacements; a constructor places whole copies of the old map.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "types/types.h"

namespace tutti::types::test {

struct Model {
  std::vector<Count> map;  // displacement of each byte of the packed stream
  bool any = false;        // has data or markers: bounds mean something
  bool marked = false;
  Count begin = 0, end = 0;  // lower and upper bound
  Count alignment = 1;

  Count extent() const { return end - begin; }
};

inline Model model_of(const Datatype& predefined, std::vector<Count> map, Count alignment) {
  return {std::move(map), true, false, 0, predefined.extent(), alignment};
}

// One copy of a type at a displacement.
struct Copy {
  Count at;
  const Model* old;
};

inline Model compose(const std::vector<Copy>& copies) {
  Model made;
  for (const Copy& copy : copies) made.marked = made.marked || copy.old->marked;
  for (const Copy& copy : copies) {
    const Model& old = *copy.old;
    if (!old.any) continue;
    for (const Count byte : old.map) made.map.push_back(copy.at + byte);
    made.alignment = std::max(made.alignment, old.alignment);
    if (made.marked && !old.marked) continue;
    made.begin = made.any ? std::min(made.begin, copy.at + old.begin) : copy.at + old.begin;
    made.end = made.any ? std::max(made.end, copy.at + old.end) : copy.at + old.end;
    made.any = true;
  }
  if (!made.marked) {
    while ((made.end - made.begin) % made.alignment != 0) ++made.end;
  }
  made.any = made.any || !made.map.empty();
  return made;
}

// A real type with its model.
struct Sample {
  TypeRef type;
  Model model;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  Count between(Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(engine_);
  }

 private:
  std::mt19937 engine_;
};

}  // namespace tutti::types::test
