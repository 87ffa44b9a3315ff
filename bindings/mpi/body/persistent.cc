// Chapters 3 and 6: persistent messages and collectives: the call is kept and begun by MPI_Start.
#include "mpi/persistent.h"

#include "bodies.h"
#include "mpi/buffered.h"
#include "mpi/calls.h"
#include "mpi/requests.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

Code keep_send(p2p::Mode mode, const types::Buffer& message, int dest, int tag,
               comm::Communicator& comm, MPI_Request* request) {
  auto* const type = const_cast<types::Datatype*>(message.type);
  return give_persistent(
      comm,
      [mode, message, dest, tag, &comm, kept = keep(*type)]() -> Result<comm::Request*> {
        return comm::isend(comm, mode, message.data, message.count, *kept, dest, tag);
      },
      request);
}

types::Buffer message_of(const void* buf, Count count, const types::Datatype& type) {
  return types::Buffer::whole(const_cast<void*>(buf), count, type);
}

}  // namespace

Code send_init(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
               comm::Communicator& comm, MPI_Request* request) {
  return keep_send(p2p::Mode::standard, message_of(buf, count, datatype), dest, tag, comm, request);
}
Code ssend_init(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
                comm::Communicator& comm, MPI_Request* request) {
  return keep_send(p2p::Mode::synchronous, message_of(buf, count, datatype), dest, tag, comm,
                   request);
}
Code rsend_init(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
                comm::Communicator& comm, MPI_Request* request) {
  return keep_send(p2p::Mode::ready, message_of(buf, count, datatype), dest, tag, comm, request);
}

Code bsend_init(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
                comm::Communicator& comm, MPI_Request* request) {
  return give_persistent(
      comm,
      [=, &comm, kept = keep(datatype)]() -> Result<comm::Request*> {
        MPI_Request begun = MPI_REQUEST_NULL;
        const Code code = ibsend(buf, count, *kept, dest, tag, comm, &begun);
        if (code != Code::ok) return fail(code, trouble().text);
        return operation_of(begun);
      },
      request);
}

Code recv_init(void* buf, Count count, types::Datatype& datatype, int source, int tag,
               comm::Communicator& comm, MPI_Request* request) {
  return give_persistent(
      comm,
      [=, &comm, kept = keep(datatype)]() -> Result<comm::Request*> {
        return comm::irecv(comm, buf, count, *kept, source, tag);
      },
      request);
}

}  // namespace tutti::mpi::body
