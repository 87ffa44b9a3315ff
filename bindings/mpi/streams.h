// Streams that calls are enqueued in: those of this process, and how an operation goes there.
#pragma once

#include "enqueue/enqueue.h"
#include "mpi/call.h"
#include "mpi/checks.h"
#include "mpi/errors.h"
#include "mpi/objects.h"

namespace tutti::mpi {

// Made at first use; the world is open.
enqueue::CallStreams& streams();
// Until what is enqueued has ended. Inside of a call.
void drain_streams();
void drain_stream(comm::Communicator& comm);  // in its own
void stop_streams();                          // at exit, where threads may be in calls
void end_streams();                           // before the world's end

// Null: not a handle of one that was not freed.
inline enqueue::UserStream* stream_of(Handle handle) {
  return object_at<enqueue::UserStream>(handle, ObjectKind::stream);
}
// What calls on this communicator are enqueued in; null, and noted: nothing can be.
enqueue::UserStream* queue_of(comm::Communicator& comm);
// Its error may be an earlier call's of the same stream that nobody was told of yet.
Code put(enqueue::UserStream& stream, enqueue::QueuedCall& operation);
Code tell_failure(enqueue::UserStream& stream);  // ok: there is none

// As for ordinary calls: the null handle will do for the type of what moves nothing.
inline const types::Datatype* type_or_nothing(MPI_Datatype handle, bool moves_nothing) {
  const types::Datatype* const type = type_of(handle);
  return type != nullptr ? type : nothing_for(handle, moves_nothing);
}

struct DataArguments {
  const void* data;
  Count count;
  const types::Datatype* type;
  MPI_Datatype handle;
  Count blocks = 1;  // of so many elements each
};
inline bool good_data(const DataArguments& said, bool may_be_in_place, const char* name) {
  return good_committed(said.type, said.handle, "datatype") &&
         good_number(said.count, Code::count, "count") &&
         good_buffer(said.data, in_blocks(said.count, said.blocks), said.type, may_be_in_place,
                     name);
}

// What a body lacks memory for is an error of its call.
template <class Body>
Code coded(Body body) {
  try {
    return body();
  } catch (...) {
    return thrown();
  }
}

template <class Body>
int run_on(function::Number number, MPI_Comm handle, Body body) {
  const CallScope call(number, CallScope::inside);
  if (!call.allowed()) return call.refuse(nullptr);
  comm::Communicator* const comm = comm_of(handle);
  if (!good_comm(comm, handle, "comm")) return call.refuse(nullptr);
  const Code code = coded([&] { return body(*comm); });
  return code == Code::ok ? MPI_SUCCESS : call.fail(code, comm);
}

// `make` notes what is wrong and gives an operation otherwise.
template <class Make>
int enqueue_on(function::Number number, MPI_Comm handle, Make make) {
  return run_on(number, handle, [&](comm::Communicator& comm) {
    enqueue::UserStream* const stream = queue_of(comm);
    return stream == nullptr ? trouble().code : make(comm, *stream);
  });
}

}  // namespace tutti::mpi
