// Persistent collectives: a call kept with what it points to, prepared once.
#pragma once

#include "mpi/calls.h"
#include "mpi/persistent.h"

namespace tutti::mpi {

// Hands a new, inactive request for the call to the user.
Code keep_call(comm::Communicator& comm, const comm::CollCall& call, MPI_Request* request);

}  // namespace tutti::mpi
