// Calls beside the gate: messages of a rank to itself, from many threads at once.
//
// With MPI_THREAD_MULTIPLE a call that needs no more than what lies behind its communicator's door
// (p2p::door_of()) does without the gate, the watch record and the checks: a short look at the
// arguments tells whether it is one, and that they are right. Whatever else there is to do or to
// say, the usual way does and says it.
//
// Each is true when all is done as the function of its name would, which then succeeds; else
// nothing happened. may_try() comes first.
#pragma once

#include <atomic>

#include "mpi/objects.h"
#include "mpi/process.h"

namespace tutti::mpi::beside {

inline bool may_try() {
  // acquire: partner is the release in open_world(); the other fields are older.
  return std::atomic_ref(process.world).load(std::memory_order_acquire) != nullptr &&
         process.gated && process.recorder == nullptr;
}

// The behind halves of what follows: the rank is our own, the first request is of a message to us.
bool send_to_self(const void* buf, Count count, MPI_Datatype datatype, int tag,
                  comm::Communicator& comm);
bool isend_to_self(const void* buf, Count count, MPI_Datatype datatype, int tag,
                   comm::Communicator& comm, MPI_Request* request);
bool irecv_from_self(void* buf, Count count, MPI_Datatype datatype, int tag,
                     comm::Communicator& comm, MPI_Request* request);
bool finish_all(int count, MPI_Request* requests, MPI_Status* statuses);

// The communicator, if the rank is our own in it; else null. Inline, as all that others pay for.
inline comm::Communicator* own_rank(MPI_Comm handle, int rank) {
  comm::Communicator* const comm = comm_of(handle);
  const bool is_own = comm != nullptr && comm->rank() == rank && !comm->is_inter();
  return is_own ? comm : nullptr;
}
inline bool is_of_self(MPI_Request handle) {
  const auto* const request = object_at<comm::Request>(bits_of(handle), ObjectKind::request);
  return request != nullptr && request->is_of_self();
}

inline bool send(const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm) {
  comm::Communicator* const on = own_rank(comm, dest);
  return on != nullptr && send_to_self(buf, count, datatype, tag, *on);
}
inline bool isend(const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  comm::Communicator* const on = own_rank(comm, dest);
  return on != nullptr && isend_to_self(buf, count, datatype, tag, *on, request);
}
inline bool irecv(void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  comm::Communicator* const on = own_rank(comm, source);
  return on != nullptr && irecv_from_self(buf, count, datatype, tag, *on, request);
}
// Requests that are done: one, or all of one communicator. MPI_STATUSES_IGNORE is null.
inline bool wait(MPI_Request* request, MPI_Status* status) {
  return request != nullptr && is_of_self(*request) && finish_all(1, request, status);
}
inline bool test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (flag == nullptr || !wait(request, status)) return false;
  *flag = 1;
  return true;
}
inline bool waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (count <= 0 || array_of_requests == nullptr || !is_of_self(array_of_requests[0]) ||
      !finish_all(count, array_of_requests, array_of_statuses))
    return false;
  for (int i = 0; i < count && array_of_statuses != MPI_STATUSES_IGNORE; ++i)
    array_of_statuses[i].MPI_ERROR = MPI_SUCCESS;
  return true;
}
inline bool testall(int count, MPI_Request array_of_requests[], int* flag,
                    MPI_Status array_of_statuses[]) {
  if (flag == nullptr || !waitall(count, array_of_requests, array_of_statuses)) return false;
  *flag = 1;
  return true;
}

}  // namespace tutti::mpi::beside
