// Completing requests for the user.
#include "mpi/requests.h"

#include "mpi/convert.h"
#include "mpi/trouble.h"

namespace tutti::mpi {

Code give_request(Result<comm::Request*>&& made, MPI_Request* handle) {
  if (!made) return note(made);
  *handle = handle_to(*made, MPI_REQUEST_NULL);
  return Code::ok;
}

p2p::Status status_of(const comm::Request& request) {
  p2p::Status status = request.status();
  if (request.hooks() != nullptr) [[unlikely]]
    request.hooks()->query(status);
  return status;
}

Code finish(MPI_Request* handle, MPI_Status* status) {
  comm::Request* const request = operation_of(*handle);
  const p2p::Status result = status_of(*request);
  put_status(result, status);
  Code code = result.code;
  if (request->hooks() != nullptr) [[unlikely]]
    code = request->hooks()->freed(code);
  if (code != Code::ok) [[unlikely]]
    refuse_on(request->comm(), code, {});
  if (bits_of(*handle) == bits_of(request))
    *handle = MPI_REQUEST_NULL;
  else
    reinterpret_cast<Persistent*>(bits_of(*handle))->current = nullptr;
  request->release();
  return code;
}

Code Persistent::start() {
  Result<comm::Request*> begun = begin_();
  if (!begun) return note(begun);
  current = *begun;
  return Code::ok;
}

Code give_persistent(comm::Communicator& comm, Persistent::Begin begin, MPI_Request* request) {
  *request = handle_to(new Persistent(comm, std::move(begin)), MPI_REQUEST_NULL);
  return Code::ok;
}

}  // namespace tutti::mpi
