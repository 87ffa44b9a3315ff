// region: memory, and that of other processes, as links read it.
#pragma once

#include "base/bytes.h"
#include "base/memory.h"

namespace tutti::transport {

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
