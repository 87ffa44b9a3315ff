// Completing requests for the user.
#include "mpi/requests.h"

#include <new>

#include "mpi/convert.h"
#include "mpi/trouble.h"

namespace tutti::mpi {

Code give_request(Result<comm::Request*>&& made, MPI_Request* handle) {
  if (!made) return note(made);
  *handle = handle_to(*made, MPI_REQUEST_NULL);
  push_on();
  return Code::ok;
}

// Below a function of the user's there may be no gate yet that somebody could wait for.
void push_on() {
  comm::Runtime& runtime = process.self_comm->runtime();
  if (!comm::has_long_calls(runtime)) return;
  const bool may_open_gate = process.callbacks == 0;
  if (may_open_gate && process.world->help())
    process.gated = true;
  else
    try {
      comm::progress(runtime);
    } catch (const std::bad_alloc&) {  // what it was for is left to a later round
    }
}

p2p::Status status_of(const comm::Request& request) {
  p2p::Status status = request.status();
  if (request.hooks() != nullptr) [[unlikely]]
    request.hooks()->query(status);
  return status;
}

namespace {

// What a request that failed says of itself, until its handler does.
void note_failure(const comm::Request& request, const p2p::Status& status, Code code) {
  refuse_on(request.comm(), code, p2p::describe_failure(status));
  add_reason(trouble(), request.reason());
}

// The handle lets go of the operation behind it.
void let_go(MPI_Request* handle, comm::Request& request) {
  if (bits_of(*handle) == request.handle())
    *handle = MPI_REQUEST_NULL;
  else
    persistent_of(*handle)->current = nullptr;
  request.release();
}

// Its maker's functions may be the user's, and free the request meanwhile.
Code finish_made(MPI_Request* handle, MPI_Status* status, comm::Request& request) {
  const auto keep = Ref<comm::Request>::share(&request);
  const p2p::Status result = status_of(request);
  put_status(result, status);
  const Code code = request.hooks()->freed(result.code);
  if (code != Code::ok) note_failure(request, result, code);
  if (operation_of(*handle) == &request) let_go(handle, request);
  return code;
}

}  // namespace

Code finish(MPI_Request* handle, MPI_Status* status) {
  comm::Request& request = *operation_of(*handle);
  if (request.hooks() != nullptr) [[unlikely]]
    return finish_made(handle, status, request);
  const Code code = request.status().code;
  put_status(request.status(), status);
  if (code != Code::ok) [[unlikely]]
    note_failure(request, request.status(), code);
  let_go(handle, request);
  return code;
}

Code free_request(MPI_Request* handle) {
  comm::Request* const request = operation_of(*handle);
  const auto keep = Ref<comm::Request>::share(request);
  const MPI_Request freed = *handle;
  Code code = Code::ok;
  if (request != nullptr && request->is_done() && request->hooks() != nullptr)
    code = request->hooks()->freed(code);
  if (*handle != freed) return code;  // the user's function freed it, too
  *handle = MPI_REQUEST_NULL;
  // It may live until it is done; one of the user's own is still to be told that it is.
  const auto* const hooks = request == nullptr ? nullptr : request->hooks();
  const bool is_users = hooks != nullptr && hooks->is_generalized();
  if (request != nullptr && !is_users) slots::hide(request);
  if (request != nullptr && bits_of(freed) == request->handle())
    request->release();
  else
    persistent_of(freed)->release();
  return code;
}

Code PersistentRequest::start() {
  Result<comm::Request*> begun = begin_();
  if (!begun) return note(begun);
  current = *begun;
  return Code::ok;
}

Code give_persistent(comm::Communicator& comm, PersistentRequest::Begin begin,
                     MPI_Request* request) {
  *request = handle_to(new PersistentRequest(comm, std::move(begin)), MPI_REQUEST_NULL);
  return Code::ok;
}

}  // namespace tutti::mpi
