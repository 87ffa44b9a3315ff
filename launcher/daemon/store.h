// The daemon's hand in the job segment: what ranks wait for there.
#pragma once

#include <string_view>

#include "wireup/segment.h"

namespace tutti::launch::daemon {

// Writes a rank's addresses and wakes whoever waits for some.
void publish_address(const wireup::Segment& segment, int rank, std::string_view address);
// Marks that a rank's process has ended. Where it did not finalize every rank of this host is woken
// to see it, if there are any that listen (a thousand programs that know no MPI need no million
// wake-ups).
enum class ProcessEnd : std::uint8_t { orderly, without_finalizing };
void publish_end(const wireup::Segment& segment, int rank, ProcessEnd end, bool anyone_listens);
// Marks the job as ending.
void publish_abort(const wireup::Segment& segment);

}  // namespace tutti::launch::daemon
