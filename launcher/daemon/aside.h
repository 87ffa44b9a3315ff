// Work that may wait for a file system or a device, done by a thread while the loop goes on.
#pragma once

#include <functional>

#include "control/control.h"

namespace tutti::launch::daemon {

// `done` is called by the loop when `work` is done, unless the loop ends first: then the thread is
// left to itself, so `work` owns (or shares) all that it touches.
void aside(control::Loop& loop, std::function<void()> work, std::function<void()> done);

}  // namespace tutti::launch::daemon
