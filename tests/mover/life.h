// When buffers are moved: while the program uses MPI; and a communicator that errors of ours go to.
#pragma once

#include <mpi.h>

namespace mover {

MPI_Comm own_comm();                // of this rank alone; returns errors
void count_move(const char* what);  // what MOVER_COUNTS asks for

}  // namespace mover
