// Two ranks in one thread: each has a stack of its own, and runs until it gives the turn away.
#pragma once

#include <functional>

namespace tutti::ruler {

// Runs body(0) and body(1), in turns, until both have ended. What they do is counted or not.
void run_both(const std::function<void(int rank)>& body, bool is_counted);

// From within a body: the other's turn, if it has not ended. Switching is not counted. Ends the
// program when both do nothing else for very long.
void turn();

// Says that something has happened since.
void moved();

}  // namespace tutti::ruler
