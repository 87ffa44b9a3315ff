// Buffered sends (MPI 5.0, 3.6): room that users attach, or that we allocate when they ask us to.
//
// A message is packed into the room and sent from there; its piece is free again when the send
// is done. One room for the process, and one for each communicator that has its own. Gate held.
#pragma once

#include <list>
#include <memory>

#include "mpi/objects.h"

namespace tutti::mpi {

class BufferRoom {
 public:
  // memory MPI_BUFFER_AUTOMATIC: no limit, allocated as needed.
  BufferRoom(void* memory, Count bytes) : memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {}
  void* memory() const { return memory_; }
  Count bytes() const { return bytes_; }

  // Packs and starts a send. Errors: no room left even after progress.
  Code send(comm::Communicator& comm, const types::Buffer& message, int dest, int tag);
  // Waits until every message has left.
  void flush();

 private:
  struct Piece {
    Count begin, end;
    comm::Request* send;
    std::unique_ptr<std::byte[]> own;
  };
  void drop_done();
  std::byte* place(Count bytes, std::list<Piece>::iterator* before);

  std::byte* memory_;
  Count bytes_;
  std::list<Piece> pieces_;  // by address
};

// The process's room (comm null) or a communicator's own; null when none is attached.
std::unique_ptr<BufferRoom>& buffer_room(const comm::Communicator* comm);
// Every message out of it, then it is gone: a communicator is freed, or (null) MPI ends.
void close_buffer_room(const comm::Communicator* comm);
// The room a send on `comm` uses.
BufferRoom* room_for(const comm::Communicator& comm);

}  // namespace tutti::mpi
