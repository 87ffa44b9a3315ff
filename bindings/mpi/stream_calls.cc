// Calls that go into a stream: arguments to an operation, which is put.
#include <mpi-ext.h>

#include <utility>

#include "mpi/call.h"
#include "mpi/calls.h"
#include "mpi/convert.h"
#include "mpi/requests.h"
#include "mpi/streams.h"
#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

using enqueue::Operation;

struct MessageArguments {
  const void* data;
  Count count;
  MPI_Datatype type;
  int peer, tag;
};

bool good_data(const void* data, Count count, const types::Datatype* type, bool may_be_in_place,
               const char* name) {
  return good_committed(type, "datatype") && good_number(count, Code::count, "count") &&
         good_buffer(data, count, type, may_be_in_place, name);
}

bool good_message(const comm::Communicator& comm, const MessageArguments& message, bool is_recv) {
  return good_data(message.data, message.count, type_of(message.type), false, "buf") &&
         good_rank(message.peer, &comm, is_recv, true) && good_tag(message.tag, is_recv);
}

void tell_one(void* status, std::size_t /*place*/, const p2p::Status& said) {
  put_status(said, static_cast<MPI_Status*>(status));
}
void tell_each(void* statuses, std::size_t place, const p2p::Status& said) {
  MPI_Status& status = static_cast<MPI_Status*>(statuses)[place];
  put_status(said, &status);
  status.MPI_ERROR = static_cast<int>(said.code);
}

Operation operation_of(function::Number number, comm::Communicator& comm,
                       const MessageArguments& message, Operation::What what) {
  Operation operation = Operation::of_message(what, comm, *type_of(message.type));
  operation.call = kNames[number];
  operation.data = const_cast<void*>(message.data);
  operation.count = message.count;
  operation.peer = message.peer;
  operation.tag = message.tag;
  return operation;
}

// `make` notes what is wrong and gives an operation otherwise.
template <class Make>
int enqueue_on(function::Number number, MPI_Comm handle, Make make) {
  const CallScope call(number, CallScope::inside);
  if (!call.allowed()) return call.refuse(nullptr);
  comm::Communicator* const comm = comm_of(handle);
  if (!good_comm(comm, "comm")) return call.refuse(nullptr);
  enqueue::UserStream* const stream = queue_of(*comm);
  const Code code = stream == nullptr ? trouble().code : make(*comm, *stream);
  return code == Code::ok ? MPI_SUCCESS : call.fail(code, comm);
}

int send(function::Number number, const MessageArguments& message, MPI_Comm on) {
  return enqueue_on(number, on, [&](comm::Communicator& comm, enqueue::UserStream& stream) {
    if (!good_message(comm, message, false)) return trouble().code;
    Operation operation = operation_of(number, comm, message, Operation::What::send);
    return put(stream, operation);
  });
}

int recv(function::Number number, const MessageArguments& message, MPI_Comm on,
         MPI_Status* status) {
  return enqueue_on(number, on, [&](comm::Communicator& comm, enqueue::UserStream& stream) {
    if (!good_message(comm, message, true)) return trouble().code;
    Operation operation = operation_of(number, comm, message, Operation::What::recv);
    if (status != MPI_STATUS_IGNORE) operation.tell = &tell_one;
    operation.statuses = status;
    return put(stream, operation);
  });
}

int begin(function::Number number, const MessageArguments& message, MPI_Comm on,
          MPI_Request* request) {
  const auto what =
      number == function::Irecv_enqueue ? Operation::What::recv : Operation::What::send;
  return enqueue_on(number, on, [&](comm::Communicator& comm, enqueue::UserStream& stream) {
    if (!good_message(comm, message, what == Operation::What::recv) ||
        !good_pointer(request, "request"))
      return trouble().code;
    Operation operation = operation_of(number, comm, message, what);
    comm::Request* const made = stream.make_request(operation);
    const Code code = put(stream, operation);
    if (code == Code::ok) {
      *request = handle_to(made, MPI_REQUEST_NULL);
    } else {
      comm::complete(*made, {});
      made->release();
    }
    return code;
  });
}

// The requests' stream; null, and noted: there is none, or not one for all.
enqueue::UserStream* stream_of_all(std::span<const MPI_Request> requests, Operation& operation) {
  enqueue::UserStream* stream = nullptr;
  for (const MPI_Request handle : requests) {
    auto* const request = object_at<comm::Request>(bits_of(handle), ObjectKind::request);
    if (handle == MPI_REQUEST_NULL) {
      operation.waited.emplace_back();
      continue;
    }
    comm::Communicator* const comm = request == nullptr ? nullptr : request->comm();
    auto* const its =
        comm == nullptr ? nullptr : static_cast<enqueue::UserStream*>(comm->stream.get());
    if (its == nullptr || !its->made(*request) || (stream != nullptr && !stream->made(*request))) {
      refuse_on(comm, Code::request,
                "a request is not one of MPIX_Isend_enqueue or MPIX_Irecv_enqueue, or of another "
                "stream than the first");
      return nullptr;
    }
    stream = its;
    operation.comm = comm::CommRef::share(comm);
    operation.waited.push_back(Ref<comm::Request>::share(request));
  }
  return stream;
}

bool are_null(std::span<const MPI_Request> requests) {
  return std::all_of(requests.begin(), requests.end(),
                     [](MPI_Request each) { return each == MPI_REQUEST_NULL; });
}

// Handles become null at once; what the user had of the requests is the operation's.
Code wait_for(std::span<MPI_Request> requests, Operation& operation) {
  enqueue::UserStream* const stream = stream_of_all(requests, operation);
  if (stream == nullptr) return trouble().code;
  if (const Code code = put(*stream, operation); code != Code::ok) return code;
  for (MPI_Request& handle : requests)
    if (handle != MPI_REQUEST_NULL)
      static_cast<comm::Request*>(
          slots::object_of(bits_of(std::exchange(handle, MPI_REQUEST_NULL))))
          ->release();
  return Code::ok;
}

int wait(function::Number number, int count, MPI_Request* array, Operation& operation) {
  const CallScope call(number, CallScope::inside);
  if (!call.allowed()) return call.refuse(nullptr);
  if (!good_number(count, Code::arg, "count") || !good_array(array, count, "array_of_requests"))
    return call.refuse(nullptr);
  const std::span requests(array, static_cast<std::size_t>(count));
  if (are_null(requests)) return MPI_SUCCESS;
  operation.what = Operation::What::wait;
  operation.call = kNames[number];
  const Code code = wait_for(requests, operation);
  operation = {};
  return code == Code::ok ? MPI_SUCCESS : call.fail(code, nullptr);
}

// `good` notes what is wrong with the arguments; `call` is made then.
template <class Good, class Call>
int collective(function::Number number, MPI_Comm on, Good good, Call call) {
  return enqueue_on(number, on, [&](comm::Communicator& comm, enqueue::UserStream& stream) {
    if (!good(comm)) return trouble().code;
    Operation operation = Operation::of_collective(comm, call(comm));
    operation.call = kNames[number];
    return put(stream, operation);
  });
}

bool good_reduction(const types::Datatype* type, const types::Op* op) {
  return good_op(op, "op") && good_in_reductions(op) && good_op_on(op, type);
}

int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm on) {
  return collective(
      function::Bcast_enqueue, on,
      [&](comm::Communicator& comm) {
        return good_data(buffer, count, type_of(type), false, "buffer") && good_root(root, &comm);
      },
      [&](comm::Communicator&) { return call_bcast(buffer, count, type_of(type), root); });
}

struct FoldArguments {
  const void* send;
  void* recv;
  Count count;
  MPI_Datatype type;
  MPI_Op op;
};

int fold(function::Number number, Collective which, const FoldArguments& said, MPI_Comm on) {
  const types::Datatype* const type = type_of(said.type);
  return collective(
      number, on,
      [&](comm::Communicator& comm) {
        return good_data(said.send, said.count, type, may_be_in_place(&comm), "sendbuf") &&
               good_data(said.recv, said.count, type, false, "recvbuf") &&
               good_reduction(type, op_of(said.op));
      },
      [&](comm::Communicator&) {
        return which == Collective::allreduce
                   ? call_fold(which, said.send, said.recv, said.count, type, op_of(said.op))
                   : call_reduce_scatter(said.send, {said.recv, said.count, type}, *op_of(said.op));
      });
}

int reduce(const FoldArguments& said, int root, MPI_Comm on) {
  const types::Datatype* const type = type_of(said.type);
  return collective(
      function::Reduce_enqueue, on,
      [&](comm::Communicator& comm) {
        if (!good_root(root, &comm)) return false;
        if (is_idle(&comm, root)) return true;
        return good_data(said.send, said.count, type, is_root(&comm, root), "sendbuf") &&
               (!is_root(&comm, root) ||
                good_data(said.recv, said.count, type, false, "recvbuf")) &&
               good_reduction(type, op_of(said.op));
      },
      [&](comm::Communicator& comm) {
        void* const recv = is_root(&comm, root) ? said.recv : nullptr;
        return call_reduce(said.send, recv, said.count, type, op_of(said.op), root);
      });
}

struct Block {
  const void* data;
  Count count;
  MPI_Datatype type;
};

int exchange(function::Number number, Collective which, const Block& send, const Block& recv,
             MPI_Comm on) {
  return collective(
      number, on,
      [&](comm::Communicator& comm) {
        const bool is_in_place = tutti::mpi::is_in_place(send.data) && may_be_in_place(&comm);
        return (is_in_place ||
                good_data(send.data, send.count, type_of(send.type), false, "sendbuf")) &&
               good_data(recv.data, recv.count, type_of(recv.type), false, "recvbuf");
      },
      [&](comm::Communicator&) {
        return call_blocks(which, {send.data, send.count, type_of(send.type)},
                           {recv.data, recv.count, type_of(recv.type)});
      });
}

}  // namespace
}  // namespace tutti::mpi

using namespace tutti;       // NOLINT(google-build-using-namespace): C functions
using namespace tutti::mpi;  // NOLINT(google-build-using-namespace): C functions

#define TUTTI_EXPORTED extern "C" [[gnu::visibility("default")]]
// Both forms: counts of int, and large ones.
#define TUTTI_SEND_ENQUEUE(name, CountType)                                                  \
  TUTTI_EXPORTED int name(const void* buf, CountType count, MPI_Datatype datatype, int dest, \
                          int tag, MPI_Comm comm) {                                          \
    return send(function::Send_enqueue, {buf, count, datatype, dest, tag}, comm);            \
  }
#define TUTTI_RECV_ENQUEUE(name, CountType)                                                       \
  TUTTI_EXPORTED int name(void* buf, CountType count, MPI_Datatype datatype, int source, int tag, \
                          MPI_Comm comm, MPI_Status* status) {                                    \
    return recv(function::Recv_enqueue, {buf, count, datatype, source, tag}, comm, status);       \
  }
#define TUTTI_ISEND_ENQUEUE(name, CountType)                                                 \
  TUTTI_EXPORTED int name(const void* buf, CountType count, MPI_Datatype datatype, int dest, \
                          int tag, MPI_Comm comm, MPI_Request* request) {                    \
    return begin(function::Isend_enqueue, {buf, count, datatype, dest, tag}, comm, request); \
  }
#define TUTTI_IRECV_ENQUEUE(name, CountType)                                                      \
  TUTTI_EXPORTED int name(void* buf, CountType count, MPI_Datatype datatype, int source, int tag, \
                          MPI_Comm comm, MPI_Request* request) {                                  \
    return begin(function::Irecv_enqueue, {buf, count, datatype, source, tag}, comm, request);    \
  }
#define TUTTI_BCAST_ENQUEUE(name, CountType)                                              \
  TUTTI_EXPORTED int name(void* buffer, CountType count, MPI_Datatype datatype, int root, \
                          MPI_Comm comm) {                                                \
    return bcast(buffer, count, datatype, root, comm);                                    \
  }
#define TUTTI_REDUCE_ENQUEUE(name, CountType)                                          \
  TUTTI_EXPORTED int name(const void* sendbuf, void* recvbuf, CountType count,         \
                          MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) { \
    return reduce({sendbuf, recvbuf, count, datatype, op}, root, comm);                \
  }
#define TUTTI_ALLREDUCE_ENQUEUE(name, CountType)                               \
  TUTTI_EXPORTED int name(const void* sendbuf, void* recvbuf, CountType count, \
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {   \
    return fold(function::Allreduce_enqueue, Collective::allreduce,            \
                {sendbuf, recvbuf, count, datatype, op}, comm);                \
  }
#define TUTTI_REDUCE_SCATTER_BLOCK_ENQUEUE(name, CountType)                         \
  TUTTI_EXPORTED int name(const void* sendbuf, void* recvbuf, CountType recvcount,  \
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {        \
    return fold(function::Reduce_scatter_block_enqueue, Collective::reduce_scatter, \
                {sendbuf, recvbuf, recvcount, datatype, op}, comm);                 \
  }
#define TUTTI_ALLGATHER_ENQUEUE(name, CountType)                                           \
  TUTTI_EXPORTED int name(const void* sendbuf, CountType sendcount, MPI_Datatype sendtype, \
                          void* recvbuf, CountType recvcount, MPI_Datatype recvtype,       \
                          MPI_Comm comm) {                                                 \
    return exchange(function::Allgather_enqueue, Collective::allgather,                    \
                    {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm); \
  }
#define TUTTI_ALLTOALL_ENQUEUE(name, CountType)                                            \
  TUTTI_EXPORTED int name(const void* sendbuf, CountType sendcount, MPI_Datatype sendtype, \
                          void* recvbuf, CountType recvcount, MPI_Datatype recvtype,       \
                          MPI_Comm comm) {                                                 \
    return exchange(function::Alltoall_enqueue, Collective::alltoall,                      \
                    {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm); \
  }

TUTTI_SEND_ENQUEUE(MPIX_Send_enqueue, int)
TUTTI_SEND_ENQUEUE(MPIX_Send_enqueue_c, MPI_Count)
TUTTI_RECV_ENQUEUE(MPIX_Recv_enqueue, int)
TUTTI_RECV_ENQUEUE(MPIX_Recv_enqueue_c, MPI_Count)
TUTTI_ISEND_ENQUEUE(MPIX_Isend_enqueue, int)
TUTTI_ISEND_ENQUEUE(MPIX_Isend_enqueue_c, MPI_Count)
TUTTI_IRECV_ENQUEUE(MPIX_Irecv_enqueue, int)
TUTTI_IRECV_ENQUEUE(MPIX_Irecv_enqueue_c, MPI_Count)
TUTTI_BCAST_ENQUEUE(MPIX_Bcast_enqueue, int)
TUTTI_BCAST_ENQUEUE(MPIX_Bcast_enqueue_c, MPI_Count)
TUTTI_REDUCE_ENQUEUE(MPIX_Reduce_enqueue, int)
TUTTI_REDUCE_ENQUEUE(MPIX_Reduce_enqueue_c, MPI_Count)
TUTTI_ALLREDUCE_ENQUEUE(MPIX_Allreduce_enqueue, int)
TUTTI_ALLREDUCE_ENQUEUE(MPIX_Allreduce_enqueue_c, MPI_Count)
TUTTI_REDUCE_SCATTER_BLOCK_ENQUEUE(MPIX_Reduce_scatter_block_enqueue, int)
TUTTI_REDUCE_SCATTER_BLOCK_ENQUEUE(MPIX_Reduce_scatter_block_enqueue_c, MPI_Count)
TUTTI_ALLGATHER_ENQUEUE(MPIX_Allgather_enqueue, int)
TUTTI_ALLGATHER_ENQUEUE(MPIX_Allgather_enqueue_c, MPI_Count)
TUTTI_ALLTOALL_ENQUEUE(MPIX_Alltoall_enqueue, int)
TUTTI_ALLTOALL_ENQUEUE(MPIX_Alltoall_enqueue_c, MPI_Count)

TUTTI_EXPORTED int MPIX_Barrier_enqueue(MPI_Comm comm) {
  return collective(
      function::Barrier_enqueue, comm, [](comm::Communicator&) { return true; },
      [](comm::Communicator&) { return call_barrier(); });
}

TUTTI_EXPORTED int MPIX_Wait_enqueue(MPI_Request* request, MPI_Status* status) {
  enqueue::Operation operation;
  if (status != MPI_STATUS_IGNORE) operation.tell = &tell_one;
  operation.statuses = status;
  if (request != nullptr && *request == MPI_REQUEST_NULL) put_empty_status(status);
  return wait(function::Wait_enqueue, 1, request, operation);
}

TUTTI_EXPORTED int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[],
                                        MPI_Status* array_of_statuses) {
  enqueue::Operation operation;
  if (array_of_statuses != MPI_STATUSES_IGNORE) operation.tell = &tell_each;
  operation.statuses = array_of_statuses;
  for (int i = 0; operation.tell != nullptr && array_of_requests != nullptr && i < count; ++i)
    if (array_of_requests[i] == MPI_REQUEST_NULL) put_empty_status(array_of_statuses + i);
  return wait(function::Waitall_enqueue, count, array_of_requests, operation);
}
