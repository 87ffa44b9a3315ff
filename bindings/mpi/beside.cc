// The short looks, and what is done behind a door.
#include "mpi/beside.h"

#include "mpi/convert.h"
#include "mpi/requests.h"

namespace tutti::mpi::beside {
namespace {

// Behind the communicator's door, if it could be had. Who only comes so looks at other messages now
// and then, on leaving.
class Visit {
 public:
  explicit Visit(const comm::Communicator& comm)
      : door_(comm.door()), is_in_(process.world->try_side(door_)) {}
  ~Visit() {
    if (is_in_) process.world->leave_side(door_);
    if (looks_) [[unlikely]]
      process.world->look();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  bool is_in() const { return is_in_; }
  void look_if_due(comm::Communicator& comm) { looks_ = comm::look_is_due(comm); }

 private:
  std::size_t door_;
  bool is_in_;
  bool looks_ = false;
};

constexpr Count kMostBytes = 64 << 10;  // who has to come in by the gate waits for the copy

// Nothing is wrong with them, and they need no more than a short copy.
bool suits(const void* data, Count count, const types::Datatype* type) {
  return count >= 0 && count <= kMostBytes && bits_of(data) > 1 && type != nullptr &&
         type->is_predefined() && type->is_contiguous() && count * type->size() <= kMostBytes;
}

// Behind its door: all of them are done and of this communicator, which does not end with them.
bool all_end_plainly(int count, const MPI_Request* requests, const comm::Communicator& comm) {
  for (int i = 0; i < count; ++i) {
    if (!is_of_self(requests[i])) return false;
    const comm::Request* const request = operation_of(requests[i]);
    if (request->comm() != &comm || !request->ends_plainly()) return false;
  }
  return comm.references() > count;
}

bool give(comm::Request* made, MPI_Request* handle) {
  if (made != nullptr) *handle = handle_to(made, MPI_REQUEST_NULL);
  return made != nullptr;
}

}  // namespace

bool send_to_self(const void* buf, Count count, MPI_Datatype datatype, int tag,
                  comm::Communicator& comm) {
  const types::Datatype* const type = type_of(datatype);
  if (!suits(buf, count, type) || tag < 0) return false;
  Visit visit(comm);
  if (!visit.is_in()) return false;
  visit.look_if_due(comm);
  return comm::send_to_self(comm, types::Buffer::whole(const_cast<void*>(buf), count, *type), tag,
                            comm::By::door);
}

bool isend_to_self(const void* buf, Count count, MPI_Datatype datatype, int tag,
                   comm::Communicator& comm, MPI_Request* request) {
  const types::Datatype* const type = type_of(datatype);
  if (!suits(buf, count, type) || tag < 0 || request == nullptr) return false;
  Visit visit(comm);
  if (!visit.is_in()) return false;
  visit.look_if_due(comm);
  return give(comm::isend_to_self(comm, types::Buffer::whole(const_cast<void*>(buf), count, *type),
                                  tag, comm::By::door),
              request);
}

bool irecv_from_self(void* buf, Count count, MPI_Datatype datatype, int tag,
                     comm::Communicator& comm, MPI_Request* request) {
  const types::Datatype* const type = type_of(datatype);
  const bool is_tag = tag >= 0 || tag == MPI_ANY_TAG;
  if (!suits(buf, count, type) || !is_tag || request == nullptr) return false;
  const Visit visit(comm);
  if (!visit.is_in()) return false;
  return give(comm::irecv_from_self(comm, types::Buffer::whole(buf, count, *type), tag), request);
}

bool finish_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  const comm::Communicator& comm = *operation_of(requests[0])->comm();
  const Visit visit(comm);
  if (!visit.is_in() || !all_end_plainly(count, requests, comm)) return false;
  for (int i = 0; i < count; ++i)
    finish(&requests[i], statuses == nullptr ? nullptr : statuses + i);
  return true;
}

}  // namespace tutti::mpi::beside
