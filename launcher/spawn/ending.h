// The end of children, each by its own number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace tutti::launch::spawn {

// False: this child has not ended by then (of now_ns). It is not reaped.
bool ends_by(pid_t child, std::int64_t until_ns);

struct Leaving {
  pid_t child;
  pid_t whom;  // gets the signals: the child, or its group (negative)
};
// SIGTERM to all, SIGKILL to those that are there a second later; reaps.
void end_all(const std::vector<Leaving>& all);

}  // namespace tutti::launch::spawn
