// region: memory, and that of other processes, as links read it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace tutti::transport {

enum class MemoryKind : std::uint8_t { host, cuda };

inline constexpr std::size_t kMemoryKinds = 2;
using MemoryKinds = unsigned;  // a set of them
constexpr MemoryKinds kinds_of(MemoryKind kind) {
  return 1U << static_cast<unsigned>(kind);
}

struct Memory {
  void* data = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::host;
  int device = 0;
};

// Memory of this process that peers may read. Its destructor takes that back, with whatever the
// transport had mapped, pinned or registered for it.
class Region {
 public:
  virtual ~Region() = default;
  // What a peer imports: of any length, the same for as long as the region lives.
  virtual BlobView key() const = 0;
};

// A region of the peer's, as one link reaches it. Its destructor ends what is being read from it:
// nothing is written any more, and no Done of it fires.
class Remote {
 public:
  virtual ~Remote() = default;
};

}  // namespace tutti::transport
