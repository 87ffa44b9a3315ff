// Requests behind handles: completing one for the user, and waiting for many.
#pragma once

#include "mpi/objects.h"

namespace tutti::mpi {

// True for a request that can complete: not null, not an inactive persistent one.
inline bool is_active(MPI_Request handle) {
  const comm::Request* const request = request_of(handle);
  return request != nullptr && request->is_active();
}
inline bool is_done(MPI_Request handle) {
  return request_of(handle)->is_done();
}

// Hands a new request to the user; an error is noted.
Code give_request(Result<comm::Request*>&& made, MPI_Request* handle);

// For a done request: fills the status, frees it (a persistent one becomes inactive) and
// returns its error, which belongs to the request's communicator.
Code finish(MPI_Request* handle, MPI_Status* status);
// The same without a note: the error goes to the status of a call on many requests.
Code finish_quietly(MPI_Request* handle, MPI_Status* status);

// Progress until `ready` says so. `ready` is asked between rounds.
template <class Ready>
void progress_until(Ready ready) {
  comm::World& world = process.world_comm->world();
  while (!ready()) {
    if (comm::progress(world) == 0) comm::idle(world);
  }
  comm::active(world);
}

}  // namespace tutti::mpi
