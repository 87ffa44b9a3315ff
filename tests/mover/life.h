// From when until when buffers are moved (while the program uses MPI), and a communicator for the
// mover's own calls, so that their errors do not reach the program's handlers.
#pragma once

#include <mpi.h>

namespace mover {

MPI_Comm own_comm();                // of this rank alone; returns errors
void count_move(const char* what);  // what MOVER_COUNTS asks for

}  // namespace mover
