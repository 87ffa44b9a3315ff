// The last words of a rank that dies by a signal: the call of MPI it is in, and its stack.
#pragma once

#include <string>

namespace tutti::mpi {

// From here on, for signals that nobody handles; the process dies by them as before, and a core
// file shows the same. `who`: "rank 1 on host a". Once a process.
void watch_for_crashes(std::string who);

// At the end of the process: where a thread of it dies by a signal, so does the process, once that
// thread has said so. Otherwise its status would be the program's.
void let_last_words_be_said();

}  // namespace tutti::mpi
