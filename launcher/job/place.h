// What a rank is in, by one look at it.
#pragma once

#include <string>

#include "control/messages.h"

namespace tutti::launch::job {

// Of MPI, that it is in; to be asked of one that is in a function.
std::string function_of(const control::SeenRank& seen);
// In a collective call, as far as the call has said what it is about.
bool is_collective(const control::SeenRank& seen);
// In MPI_Init: over several hosts that ends when all have come.
bool is_starting(const control::SeenRank& seen);
// In MPI_Init, before it meets others: networks and drivers are opened.
bool is_opening(const control::SeenRank& seen);
// Its MPI program has; what it was in then is in its record still.
bool has_died(const control::SeenRank& seen);
// At that moment: under strace each system call is one in state t.
bool looks_stopped(const control::SeenRank& seen);
// In a call of MPI's, which may need others, and can go on.
bool waits_in_mpi(const control::SeenRank& seen);
// By the world's collective call that `seen` is in. Members of other communicators are not known.
bool is_missed_in(const control::SeenRank& seen, const control::SeenRank& other);
// In words.
std::string place_of(const control::SeenRank& seen);

}  // namespace tutti::launch::job
