// What a host is like, for `prun --check`: each finding tried, not guessed, where that is possible.
#pragma once

#include "control/messages.h"

namespace tutti::launch::daemon {

control::Findings examine_host(const control::Examine& wish);

}  // namespace tutti::launch::daemon
