// Chapter 3: probing with matching, and receiving what was taken.
#include "bodies.h"
#include "mpi/convert.h"
#include "mpi/requests.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

Code take(comm::Communicator& comm, int source, int tag, bool block, MPI_Message* message,
          MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    put_null_status(status);
    return Code::ok;
  }
  p2p::Status found;
  *message = handle_to(comm::take(comm, source, tag, block, &found), MPI_MESSAGE_NULL);
  if (*message != MPI_MESSAGE_NULL) put_status(found, status);
  return found.code;
}

}  // namespace

Code mprobe(int source, int tag, comm::Communicator& comm, MPI_Message* message,
            MPI_Status* status) {
  return take(comm, source, tag, true, message, status);
}

Code improbe(int source, int tag, comm::Communicator& comm, int* flag, MPI_Message* message,
             MPI_Status* status) {
  const Code code = take(comm, source, tag, false, message, status);
  *flag = *message != MPI_MESSAGE_NULL;
  return code;
}

Code imrecv(void* buf, Count count, types::Datatype& datatype, MPI_Message* message,
            MPI_Request* request) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    return irecv(buf, count, datatype, MPI_PROC_NULL, 0, *process.self_comm, request);
  }
  auto* const taken = object_at<comm::MatchedMessage>(bits_of(*message), ObjectKind::message);
  if (taken == nullptr) return refuse(Code::request, "message is not a message of a matched probe");
  *request = handle_to(comm::irecv_taken(*taken, buf, count, datatype), MPI_REQUEST_NULL);
  taken->release();
  *message = MPI_MESSAGE_NULL;
  return Code::ok;
}

Code mrecv(void* buf, Count count, types::Datatype& datatype, MPI_Message* message,
           MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (const Code code = imrecv(buf, count, datatype, message, &request); code != Code::ok)
    return code;
  // The message is taken: it comes, also where memory is short for a moment.
  for (;;) try {
      return wait(&request, status);
    } catch (const std::bad_alloc&) {
      if (request == MPI_REQUEST_NULL) throw;
    }
}

}  // namespace tutti::mpi::body
