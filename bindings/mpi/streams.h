// Streams that calls are enqueued in: those of this process, and how an operation goes there.
#pragma once

#include "enqueue/enqueue.h"
#include "mpi/objects.h"

namespace tutti::mpi {

// Made at first use; the world is open.
enqueue::Streams& streams();
// Until what is enqueued has ended. Inside of a call.
void drain_streams();
void drain_stream(comm::Communicator& comm);  // in its own
void end_streams();                           // before the world's end

// Null: not a handle of one that was not freed.
inline enqueue::UserStream* stream_of(Handle handle) {
  return object_at<enqueue::UserStream>(handle, ObjectKind::stream);
}
// What calls on this communicator are enqueued in; null, and noted: nothing can be.
enqueue::UserStream* queue_of(comm::Communicator& comm);
// An error is noted: of an earlier call that nobody was told of, or of this one.
Code put(enqueue::UserStream& stream, enqueue::Operation& operation);
Code tell_failure(enqueue::UserStream& stream);  // ok: there is none

}  // namespace tutti::mpi
