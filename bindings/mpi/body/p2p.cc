// Chapter 3: sending and receiving, blocking and not.
#include <memory>
#include <utility>

#include "bodies.h"
#include "mpi/convert.h"
#include "mpi/exchange.h"
#include "mpi/memory.h"
#include "mpi/requests.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

Code put_request(comm::Request* made, MPI_Request* handle) {
  *handle = handle_to(made, MPI_REQUEST_NULL);
  return Code::ok;
}

// What a blocking receive returns; where the message did not fit, whose it was.
[[gnu::always_inline]] inline Code end_received(const p2p::Status& result) {
  if (result.code == Code::truncate) [[unlikely]]
    return refuse(result.code, p2p::describe_failure(result));
  return result.code;
}

// Waits for a request that the user never sees; its reference ends here. Inlined by force: every
// sendrecv comes here.
[[gnu::always_inline]] inline p2p::Status join(comm::Request* request) {
  comm::wait(request->comm()->runtime(), *request);
  const p2p::Status status = request->status();
  request->release();
  return status;
}

}  // namespace

Code send(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
          comm::Communicator& comm) {
  return comm::send(comm, p2p::Mode::standard, buf, count, datatype, dest, tag);
}
Code ssend(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
           comm::Communicator& comm) {
  return comm::send(comm, p2p::Mode::synchronous, buf, count, datatype, dest, tag);
}
Code rsend(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
           comm::Communicator& comm) {
  return comm::send(comm, p2p::Mode::ready, buf, count, datatype, dest, tag);
}
Code isend(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
           comm::Communicator& comm, MPI_Request* request) {
  return put_request(comm::isend(comm, p2p::Mode::standard, buf, count, datatype, dest, tag),
                     request);
}
Code issend(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
            comm::Communicator& comm, MPI_Request* request) {
  return put_request(comm::isend(comm, p2p::Mode::synchronous, buf, count, datatype, dest, tag),
                     request);
}
Code irsend(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
            comm::Communicator& comm, MPI_Request* request) {
  return put_request(comm::isend(comm, p2p::Mode::ready, buf, count, datatype, dest, tag), request);
}

Code recv(void* buf, Count count, types::Datatype& datatype, int source, int tag,
          comm::Communicator& comm, MPI_Status* status) {
  const p2p::Status result = comm::recv(comm, buf, count, datatype, source, tag);
  put_status(result, status);
  return end_received(result);
}
Code irecv(void* buf, Count count, types::Datatype& datatype, int source, int tag,
           comm::Communicator& comm, MPI_Request* request) {
  return put_request(comm::irecv(comm, buf, count, datatype, source, tag), request);
}

Code sendrecv(const void* sendbuf, Count sendcount, types::Datatype& sendtype, int dest,
              int sendtag, void* recvbuf, Count recvcount, types::Datatype& recvtype, int source,
              int recvtag, comm::Communicator& comm, MPI_Status* status) {
  comm::Request* const coming = comm::irecv(comm, recvbuf, recvcount, recvtype, source, recvtag);
  const Code sent =
      comm::send(comm, p2p::Mode::standard, sendbuf, sendcount, sendtype, dest, sendtag);
  const p2p::Status result = join(coming);
  put_status(result, status);
  return sent != Code::ok ? sent : end_received(result);
}

// The outgoing data are packed aside first, so that the incoming may overwrite them. Where that
// fails both peers have their part all the same: word of it, and a receive.
Code sendrecv_replace(void* buf, Count count, types::Datatype& datatype, int dest, int sendtag,
                      int source, int recvtag, comm::Communicator& comm, MPI_Status* status) {
  const auto whole = message_at(buf, count, datatype);
  const auto packed = std::make_unique<std::byte[]>(static_cast<std::size_t>(whole.bytes));
  if (const Code code = copy_message(whole, types::Buffer::plain(packed.get(), whole.bytes));
      code != Code::ok) {
    comm::Request* const coming = comm::irecv(comm, buf, count, datatype, source, recvtag);
    comm::send_failure(comm, dest, sendtag);
    put_status(join(coming), status);
    return code;
  }
  return sendrecv(packed.get(), whole.bytes, *type_of(MPI_PACKED), dest, sendtag, buf, count,
                  datatype, source, recvtag, comm, status);
}

Code isendrecv(const void* sendbuf, Count sendcount, types::Datatype& sendtype, int dest,
               int sendtag, void* recvbuf, Count recvcount, types::Datatype& recvtype, int source,
               int recvtag, comm::Communicator& comm, MPI_Request* request) {
  const ExchangeSide out{const_cast<void*>(sendbuf), sendcount, &sendtype, dest, sendtag};
  const ExchangeSide in{recvbuf, recvcount, &recvtype, source, recvtag};
  return put_request(start_exchange(comm, out, in, {}), request);
}

Code isendrecv_replace(void* buf, Count count, types::Datatype& datatype, int dest, int sendtag,
                       int source, int recvtag, comm::Communicator& comm, MPI_Request* request) {
  const auto whole = message_at(buf, count, datatype);
  auto packed = std::make_unique<std::byte[]>(static_cast<std::size_t>(whole.bytes));
  const Code failure = copy_message(whole, types::Buffer::plain(packed.get(), whole.bytes));
  const ExchangeSide out{packed.get(), whole.bytes, type_of(MPI_PACKED), dest, sendtag};
  const ExchangeSide in{buf, count, &datatype, source, recvtag};
  return put_request(start_exchange(comm, out, in, {std::move(packed), failure}), request);
}

Code probe(int source, int tag, comm::Communicator& comm, MPI_Status* status) {
  const p2p::Status found = comm::probe(comm, source, tag);
  put_status(found, status);
  return found.code;
}

Code iprobe(int source, int tag, comm::Communicator& comm, int* flag, MPI_Status* status) {
  p2p::Status found;
  *flag = comm::iprobe(comm, source, tag, &found);
  if (*flag != 0) put_status(found, status);
  return Code::ok;
}

}  // namespace tutti::mpi::body
