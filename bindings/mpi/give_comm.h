// Handing new communicators to the user, with their error handler and hints.
#pragma once

#include "mpi/checks.h"
#include "mpi/errors.h"
#include "mpi/trouble.h"

namespace tutti::mpi {

// A new communicator has its parent's error handler (MPI 5.0, 9.3).
Code give_comm(comm::Communicator& parent, Result<comm::CommRef>&& made, MPI_Comm* newcomm);
// One without a parent has the handler it was made with.
Code give_comm(Errhandler& handler, const comm::Group& from, Result<comm::CommRef>&& made,
               MPI_Comm* newcomm);

// Hints of communicators (MPI 5.0, 7.4.4): those known are kept, the rest is left alone.
void set_hints(comm::Communicator& comm, const Info& info);
// What is in force: every hint known, with its default unless it was set.
Info* hints_of(const comm::Communicator& comm);

}  // namespace tutti::mpi
