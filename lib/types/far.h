// far: blocks of a layout so large that no cache holds it. Private to types.
//
// The processor fetches ahead what lies side by side, no further than a page; blocks some lines
// apart it meets one by one. So they are asked for ahead here, and what is written in whole lines
// goes to memory without being read first. In a cache both would cost more than they bring.
#pragma once

#include "types/types.h"

namespace tutti::types {

// `count` blocks of `bytes`, so far apart where they are read and written.
struct FarBlocks {
  Count bytes, count, to_stride, from_stride;
};

// Whether reading and writing them goes past all caches.
bool are_far(const FarBlocks& blocks);
// Some of them at once, by a copy for their length.
using CopyNear = void (*)(std::byte* to, const std::byte* from, const FarBlocks& some);
void copy_far(std::byte* to, const std::byte* from, const FarBlocks& blocks, CopyNear copy_near);

}  // namespace tutti::types
