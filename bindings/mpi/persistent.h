// Persistent requests: a call kept with its arguments, begun again by each MPI_Start.
//
// Owner: the user's handle, which stays the same. While active it has a request of comm's.
// Schedules are cached by communicators, so a restarted collective builds nothing.
#pragma once

#include <functional>

#include "mpi/objects.h"

namespace tutti::mpi {

class PersistentRequest final : public Object {
 public:
  using Begin = std::function<Result<comm::Request*>()>;

  PersistentRequest(comm::Communicator& comm, Begin begin)
      : Object(ObjectKind::persistent, &Object::destroy_as<PersistentRequest>),
        comm_(comm::CommRef::share(&comm)),
        begin_(std::move(begin)) {}
  ~PersistentRequest() {
    if (current != nullptr) current->release();  // it ends without us
  }
  comm::Communicator& comm() const { return *comm_; }
  Code start();

  comm::Request* current = nullptr;  // null: inactive
  // A partitioned message (MPI 5.0, 4); its side is null with MPI_PROC_NULL.
  enum class Role : std::uint8_t { whole, sends_parts, receives_parts };
  Role role = Role::whole;
  int partitions = 0;
  p2p::Partitioned* side = nullptr;

 private:
  comm::CommRef comm_;
  Begin begin_;
};

// Keeps a predefined or a user's object alive in a Begin.
template <class T>
Ref<T> keep(T& object) {
  return Ref<T>::share(&object);
}
// Hands a new, inactive request to the user.
Code give_persistent(comm::Communicator& comm, PersistentRequest::Begin begin,
                     MPI_Request* request);

}  // namespace tutti::mpi
