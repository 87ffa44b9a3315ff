// doorbell: a socket that a rank listens on while it sleeps on descriptors, so that neighbours
// and the daemon can wake it. Its name is in no file system and follows from the segment.
//
// Any thread or process of the host may ring. A bell that nobody listens to harms nothing.
#pragma once

#include <cstdint>

#include "base/unique_fd.h"
#include "wireup/segment.h"

namespace tutti::wireup {

// Not open: the name is taken, or no descriptors are left.
UniqueFd open_doorbell(const Segment& segment, std::uint32_t local);
void ring_doorbell(const Segment& segment, std::uint32_t local);
void drain_doorbell(int fd);

}  // namespace tutti::wireup
