// Messages that go into a stream, and waits for them: arguments to a call, which is put.
#include <mpi-ext.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/call.h"
#include "mpi/convert.h"
#include "mpi/exported.h"
#include "mpi/requests.h"
#include "mpi/streams.h"
#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

using enqueue::QueuedCall;

struct MessageArguments {
  const void* data;
  Count count;
  MPI_Datatype type;
  int peer, tag;
};

const types::Datatype* type_of_message(const MessageArguments& message) {
  return type_or_nothing(message.type, message.count == 0 || message.peer == MPI_PROC_NULL);
}

bool good_message(const comm::Communicator& comm, const MessageArguments& message, bool is_recv) {
  return good_data({message.data, message.count, type_of_message(message), message.type}, false,
                   "buf") &&
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

QueuedCall operation_of(function::Number number, comm::Communicator& comm,
                        const MessageArguments& message, QueuedCall::What what) {
  QueuedCall operation = QueuedCall::of_message(what, comm, *type_of_message(message));
  operation.call = kNames[number];
  operation.data = const_cast<void*>(message.data);
  operation.count = message.count;
  operation.peer = message.peer;
  operation.tag = message.tag;
  return operation;
}

int send(function::Number number, const MessageArguments& message, MPI_Comm on) {
  return enqueue_on(number, on, [&](comm::Communicator& comm, enqueue::UserStream& stream) {
    if (!good_message(comm, message, false)) return trouble().code;
    QueuedCall operation = operation_of(number, comm, message, QueuedCall::What::send);
    return put(stream, operation);
  });
}

int recv(function::Number number, const MessageArguments& message, MPI_Comm on,
         MPI_Status* status) {
  return enqueue_on(number, on, [&](comm::Communicator& comm, enqueue::UserStream& stream) {
    if (!good_message(comm, message, true)) return trouble().code;
    QueuedCall operation = operation_of(number, comm, message, QueuedCall::What::recv);
    if (status != MPI_STATUS_IGNORE) operation.tell = &tell_one;
    operation.statuses = status;
    return put(stream, operation);
  });
}

int begin(function::Number number, const MessageArguments& message, MPI_Comm on,
          MPI_Request* request) {
  const auto what =
      number == function::Irecv_enqueue ? QueuedCall::What::recv : QueuedCall::What::send;
  return enqueue_on(number, on, [&](comm::Communicator& comm, enqueue::UserStream& stream) {
    if (!good_message(comm, message, what == QueuedCall::What::recv) ||
        !good_pointer(request, "request"))
      return trouble().code;
    QueuedCall operation = operation_of(number, comm, message, what);
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

bool is_one_twice(std::span<const Ref<comm::Request>> waited) {
  std::vector<const comm::Request*> sorted;
  for (const auto& each : waited)
    if (each) sorted.push_back(each.get());
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) != sorted.end();
}

// The requests' stream; null, and noted: there is none, or not one for all.
enqueue::UserStream* stream_of_all(std::span<const MPI_Request> requests, QueuedCall& operation) {
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
  if (!is_one_twice(operation.waited)) return stream;
  refuse_on(operation.comm.get(), Code::request, "a request is there twice");
  return nullptr;
}

bool are_null(std::span<const MPI_Request> requests) {
  return std::all_of(requests.begin(), requests.end(),
                     [](MPI_Request each) { return each == MPI_REQUEST_NULL; });
}

// The user's handles become null at once, and copies of them stale; the operation keeps the
// requests.
Code wait_for(std::span<MPI_Request> requests, QueuedCall& operation) {
  enqueue::UserStream* const stream = stream_of_all(requests, operation);
  if (stream == nullptr) return trouble().code;
  if (const Code code = put(*stream, operation); code != Code::ok) return code;
  for (MPI_Request& handle : requests)
    if (handle != MPI_REQUEST_NULL) {
      auto* const request = static_cast<comm::Request*>(
          slots::object_of(bits_of(std::exchange(handle, MPI_REQUEST_NULL))));
      slots::hide(request);
      request->release();
    }
  return Code::ok;
}

int wait(function::Number number, int count, MPI_Request* array, QueuedCall& operation) {
  const CallScope call(number, CallScope::inside);
  if (!call.allowed()) return call.refuse(nullptr);
  if (!good_number(count, Code::arg, "count") || !good_array(array, count, "array_of_requests"))
    return call.refuse(nullptr);
  const std::span requests(array, static_cast<std::size_t>(count));
  if (are_null(requests)) return MPI_SUCCESS;
  operation.what = QueuedCall::What::wait;
  operation.call = kNames[number];
  const Code code = coded([&] { return wait_for(requests, operation); });
  operation = {};
  return code == Code::ok ? MPI_SUCCESS : call.fail(code, nullptr);
}

}  // namespace
}  // namespace tutti::mpi

using namespace tutti;       // NOLINT(google-build-using-namespace): C functions
using namespace tutti::mpi;  // NOLINT(google-build-using-namespace): C functions

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
TUTTI_SEND_ENQUEUE(MPIX_Send_enqueue, int)
TUTTI_SEND_ENQUEUE(MPIX_Send_enqueue_c, MPI_Count)
TUTTI_RECV_ENQUEUE(MPIX_Recv_enqueue, int)
TUTTI_RECV_ENQUEUE(MPIX_Recv_enqueue_c, MPI_Count)
TUTTI_ISEND_ENQUEUE(MPIX_Isend_enqueue, int)
TUTTI_ISEND_ENQUEUE(MPIX_Isend_enqueue_c, MPI_Count)
TUTTI_IRECV_ENQUEUE(MPIX_Irecv_enqueue, int)
TUTTI_IRECV_ENQUEUE(MPIX_Irecv_enqueue_c, MPI_Count)
TUTTI_EXPORTED int MPIX_Wait_enqueue(MPI_Request* request, MPI_Status* status) {
  enqueue::QueuedCall operation;
  if (status != MPI_STATUS_IGNORE) operation.tell = &tell_one;
  operation.statuses = status;
  if (request != nullptr && *request == MPI_REQUEST_NULL) put_empty_status(status);
  return wait(function::Wait_enqueue, 1, request, operation);
}

TUTTI_EXPORTED int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[],
                                        MPI_Status* array_of_statuses) {
  enqueue::QueuedCall operation;
  if (array_of_statuses != MPI_STATUSES_IGNORE) operation.tell = &tell_each;
  operation.statuses = array_of_statuses;
  for (int i = 0; operation.tell != nullptr && array_of_requests != nullptr && i < count; ++i)
    if (array_of_requests[i] == MPI_REQUEST_NULL) put_empty_status(array_of_statuses + i);
  return wait(function::Waitall_enqueue, count, array_of_requests, operation);
}
