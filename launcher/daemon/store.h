// The daemon's hand in the job segment: what ranks wait for there.
#pragma once

#include <string_view>

#include "wireup/segment.h"

namespace tutti::launch::daemon {

// Writes a rank's addresses and wakes whoever waits for some.
void publish_address(const wireup::Segment& segment, int rank, std::string_view address);
// Marks a rank as gone without finalizing; wakes every rank of this host to see it, where there
// are any that listen (a thousand programs that know no MPI need no million wake-ups).
void publish_gone(const wireup::Segment& segment, int rank, bool anyone_listens);
// Marks the job as ending.
void publish_abort(const wireup::Segment& segment);

}  // namespace tutti::launch::daemon
