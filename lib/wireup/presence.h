// Which neighbours' processes have ended, where no daemon tells: each rank of a host holds a lock
// on a byte of the segment's file, which the kernel lets go when its process ends, however it does.
//
// The lock is of the process (POSIX, fcntl(2)): children don't hold it on. The process must not
// close any descriptor of that file before its end. Private to wireup.
#pragma once

#include <atomic>
#include <cstdint>

#include "wireup/segment.h"

namespace tutti::wireup {

class Presence {
 public:
  // Before this rank's state says "running".
  static Result<void> hold(const Segment& segment, std::uint32_t local);
  // Marks those that hold no more and have not finalized (RankRecord::gone). A system call for each
  // neighbour, once in a second; whoever else asks meanwhile costs nothing.
  void look(const Segment& segment);

 private:
  std::atomic<std::int64_t> next_ns_{0};
};

}  // namespace tutti::wireup
