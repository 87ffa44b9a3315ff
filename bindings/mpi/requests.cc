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

Code finish_quietly(MPI_Request* handle, MPI_Status* status) {
  comm::Request* const request = request_of(*handle);
  const p2p::Status result = request->status();
  put_status(result, status);
  request->release();
  *handle = MPI_REQUEST_NULL;
  return result.code;
}

Code finish(MPI_Request* handle, MPI_Status* status) {
  comm::Communicator* const where = request_of(*handle)->comm();
  const Code code = finish_quietly(handle, status);
  return code == Code::ok ? code : refuse_on(where, code, {});
}

}  // namespace tutti::mpi
