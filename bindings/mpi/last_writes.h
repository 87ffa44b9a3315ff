// What the program's own streams hold, when this process is about to end without exit().
#pragma once

namespace tutti::mpi {

// Writes it, as exit() would: the line that says why MPI_Abort follows is often there. It waits for
// a moment at most: a stream may be another thread's, or nobody reads what is written.
void write_what_streams_hold();

}  // namespace tutti::mpi
