// Requests behind handles: completing one for the user, and waiting for many.
#pragma once

#include "mpi/objects.h"
#include "mpi/persistent.h"

namespace tutti::mpi {

// The operation behind a good handle: null for MPI_REQUEST_NULL and inactive persistent requests.
inline comm::Request* operation_of(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return nullptr;
  auto* const object = static_cast<Object*>(slots::object_of(bits_of(handle)));
  if (object->kind() == ObjectKind::request) [[likely]]
    return static_cast<comm::Request*>(object);
  return static_cast<PersistentRequest*>(object)->current;
}
// The same of the request itself: null if it is not persistent.
inline PersistentRequest* persistent_of(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return nullptr;
  auto* const object = static_cast<Object*>(slots::object_of(bits_of(handle)));
  return object->kind() == ObjectKind::persistent ? static_cast<PersistentRequest*>(object)
                                                  : nullptr;
}
inline bool is_active(MPI_Request handle) {
  return operation_of(handle) != nullptr;
}
inline bool is_done(MPI_Request handle) {
  return operation_of(handle)->is_done();
}

// Hands a new request to the user; an error is noted.
Code give_request(Result<comm::Request*>&& made, MPI_Request* handle);

// After the start of a nonblocking or persistent collective: long ones go on at once as far as they
// can, and where a thread may help, it is called.
void push_on();

// Of a done request, as its user sees it.
p2p::Status status_of(const comm::Request& request);

// For a done request: fills the status, frees it (a persistent one becomes inactive) and
// returns its error, noted for the handler of its communicator.
Code finish(MPI_Request* handle, MPI_Status* status);
// Not MPI_REQUEST_NULL. An operation under way keeps itself alive.
Code free_request(MPI_Request* handle);

// Progress until `ready` says so, which another thread may bring about, too.
template <class Ready>
void wait_until_ready(const Ready& ready) {
  comm::Runtime& runtime = process.self_comm->runtime();
  comm::progress_until(runtime, ready);
  comm::active(runtime);
}

}  // namespace tutti::mpi
