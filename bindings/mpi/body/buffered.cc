// Chapter 3: buffered sends and the buffers they use.
#include "mpi/buffered.h"

#include "bodies.h"
#include "mpi/memory.h"
#include "mpi/requests.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

constexpr const char* kNoBuffer = "no buffer is attached (MPI_Buffer_attach)";

Code attach(const Object* owner, void* buffer, Count size) {
  std::unique_ptr<BufferRoom>& room = buffer_room(owner);
  if (room != nullptr) return refuse(Code::buffer, "a buffer is attached already");
  room = std::make_unique<BufferRoom>(buffer, size);
  return Code::ok;
}

Code detach(const Object* owner, void* address_out, Count* size) {
  std::unique_ptr<BufferRoom>& room = buffer_room(owner);
  void* memory = nullptr;
  *size = 0;
  // Others may put messages into it, or be at the same, while we wait.
  while (room != nullptr && !room->is_empty()) room->flush();
  if (room != nullptr) {
    memory = room->memory();
    *size = room->bytes();
    room.reset();
  }
  *static_cast<void**>(address_out) = memory;
  return Code::ok;
}

Code flush(const Object* owner) {
  if (const auto& room = buffer_room(owner); room != nullptr) room->flush();
  return Code::ok;
}

// Nothing attached: complete at once (MPI 5.0, 3.6).
Code iflush(const Object* owner, MPI_Request* request) {
  const auto& room = buffer_room(owner);
  comm::Request* made = nullptr;
  if (room != nullptr) {
    made = room->start_flush();
  } else {
    made = comm::open_request(*process.self_comm, nullptr);
    comm::complete(*made, {});
  }
  *request = handle_to(made, MPI_REQUEST_NULL);
  return Code::ok;
}

}  // namespace

Code buffer_attach(void* buffer, Count size) {
  return attach(nullptr, buffer, size);
}
Code buffer_detach(void* buffer_addr, Count* size) {
  return detach(nullptr, buffer_addr, size);
}
Code buffer_flush() {
  return flush(nullptr);
}

Code buffer_iflush(MPI_Request* request) {
  return iflush(nullptr, request);
}

Code comm_attach_buffer(comm::Communicator& comm, void* buffer, Count size) {
  return attach(&comm, buffer, size);
}
Code comm_detach_buffer(comm::Communicator& comm, void* buffer_addr, Count* size) {
  return detach(&comm, buffer_addr, size);
}
Code comm_flush_buffer(comm::Communicator& comm) {
  return flush(&comm);
}
Code comm_iflush_buffer(comm::Communicator& comm, MPI_Request* request) {
  return iflush(&comm, request);
}

Code session_attach_buffer(Session& session, void* buffer, Count size) {
  return attach(&session, buffer, size);
}
Code session_detach_buffer(Session& session, void* buffer_addr, Count* size) {
  return detach(&session, buffer_addr, size);
}
Code session_flush_buffer(Session& session) {
  return flush(&session);
}
Code session_iflush_buffer(Session& session, MPI_Request* request) {
  return iflush(&session, request);
}

Code bsend(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
           comm::Communicator& comm) {
  if (dest == MPI_PROC_NULL) return Code::ok;
  BufferRoom* const room = room_for(comm);
  if (room == nullptr) return refuse(Code::buffer, kNoBuffer);
  return room->send(comm, message_at(buf, count, datatype), dest, tag);
}

// Complete as soon as the message is in the buffer.
Code ibsend(const void* buf, Count count, types::Datatype& datatype, int dest, int tag,
            comm::Communicator& comm, MPI_Request* request) {
  if (dest == MPI_PROC_NULL) return isend(buf, count, datatype, dest, tag, comm, request);
  BufferRoom* const room = room_for(comm);
  if (room == nullptr) return refuse(Code::buffer, kNoBuffer);
  comm::Request* const made = room->start_send(comm, message_at(buf, count, datatype), dest, tag);
  if (made == nullptr) return Code::buffer;
  *request = handle_to(made, MPI_REQUEST_NULL);
  return Code::ok;
}

}  // namespace tutti::mpi::body
