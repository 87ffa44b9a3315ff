// region: memory, and that of other processes, as links read and write it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/memory.h"

namespace tutti::transport {

// Memory of this process that peers may read and write. Its destructor takes that back, with
// whatever the transport had mapped, pinned or registered for it.
class Region {
 public:
  virtual ~Region() = default;
  // What a peer imports: of any length, the same for as long as the region lives.
  virtual BlobView key() const = 0;
};

// A region of the peer's, as one link reaches it. Its destructor ends what is being read from it
// and written to it: nothing is written any more, and no Done of it fires.
class Remote {
 public:
  virtual ~Remote() = default;
};

// What is done to a word in one step that nothing comes between.
struct Atomic {
  enum class Kind : std::uint8_t { add, swap, compare_swap };
  Kind kind = Kind::add;
  std::uint64_t operand = 0;   // is added, or put there
  std::uint64_t expected = 0;  // compare_swap: put there only where this stands
};

}  // namespace tutti::transport
