// Chapter 13: generalized requests.
#include "bodies.h"
#include "mpi/generalized.h"
#include "mpi/requests.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {

Code grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                    MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                    MPI_Request* request) {
  const GeneralizedCalls calls{query_fn, free_fn, cancel_fn, extra_state};
  *request = handle_to(start_generalized(*process.self_comm, calls), MPI_REQUEST_NULL);
  return Code::ok;
}

Code grequest_complete(MPI_Request request) {
  comm::Request* const operation = operation_of(request);
  if (operation == nullptr || operation->hooks() == nullptr ||
      !operation->hooks()->is_generalized())
    return refuse(Code::request, "request is not a generalized request");
  if (operation->is_done()) return refuse(Code::request, "request is complete already");
  comm::complete(*operation, {});
  return Code::ok;
}

}  // namespace tutti::mpi::body
