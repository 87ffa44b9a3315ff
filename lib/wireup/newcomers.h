// newcomers: ranks that a process learns of after its start (spawned, joined), which are not in its
// job segment. A group of them says itself where its ranks are and by which addresses they are
// reached. (Ready, not called yet.)
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tutti::wireup {

class Newcomers {
 public:
  virtual ~Newcomers() = default;
  virtual int size() const = 0;
  // Numbers of hosts count on from the segment's: with ranks of the same machine, too, this process
  // shares no segment.
  virtual int host(int which) const = 0;
  virtual std::string host_name(int which) const = 0;
  // Its process ended without finalizing, as far as somebody said so.
  virtual bool is_gone(int which) const = 0;
  // As Wireup::get() of the ranks that were there from the start.
  virtual Result<BlobView> address(int which) = 0;
};

}  // namespace tutti::wireup
