// Layout: the flattened form of a datatype (inside the types room only).
//
// A node says where the bytes of one element lie, relative to the element's address, in
// stream order. There are four kinds; the constructors below keep them in normal form, so
// that a contiguous type is always a single run and a regular one takes constant memory:
//
//   run    bytes at 0                            list  nodes at offsets
//   loop   count times the body, stride apart    runs  byte runs at offsets
//
// Nodes are immutable and shared among the types built from each other.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "types/types.h"

namespace tutti::types {

struct Node;
using NodeRef = std::shared_ptr<const Node>;

struct ByteRun {
  Count offset = 0;  // from the node's address
  Count start = 0;   // in the node's packed stream
  Count bytes = 0;
};

struct Node {
  enum class Kind : std::uint8_t { run, loop, runs, list };
  struct Child {
    Count offset = 0;
    Count start = 0;
    NodeRef node;
  };

  Kind kind = Kind::run;
  Count bytes = 0;  // of the packed stream
  Count count = 0;  // loop
  Count stride = 0;
  NodeRef body;
  std::vector<ByteRun> runs;
  std::vector<Child> list;
};

// A node at an offset: what types are made of. Offset and node together are one element.
struct Placed {
  Count offset = 0;
  NodeRef node;
};

struct Layout {
  Placed root;
};

Placed single_run(Count offset, Count bytes);
// `count` copies of `body`, `stride` bytes apart.
Placed repeat(const Placed& body, Count count, Count stride);
// One after the other in stream order.
Placed sequence(std::span<const Placed> parts);

}  // namespace tutti::types
