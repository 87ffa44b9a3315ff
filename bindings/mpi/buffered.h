// Buffered sends (MPI 5.0, 3.6): room that users attach, or that we allocate when they ask us to.
//
// A message is packed into the room and sent from there; its piece is free again when the send
// is done. One room for the process, and one for each communicator or session that has its own.
// Gate held.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "mpi/objects.h"

namespace tutti::mpi {

class BufferRoom {
 public:
  // memory MPI_BUFFER_AUTOMATIC: no limit, allocated as needed. That of a device counts, and
  // messages lie in the host's: they are on their way out.
  BufferRoom(void* memory, Count bytes);
  void* memory() const { return memory_; }
  Count bytes() const { return bytes_; }
  bool is_empty() const { return pieces_.empty(); }

  // Packs and starts a send. Errors: no room left even after progress.
  Code send(comm::Communicator& comm, const types::Buffer& message, int dest, int tag);
  // The same with a request that is done, but can still be cancelled. Null: no room, noted.
  comm::Request* start_send(comm::Communicator& comm, const types::Buffer& message, int dest,
                            int tag);
  // Waits until every message that is in it now has left.
  void flush();
  // A request for the same.
  comm::Request* start_flush();

 private:
  struct Piece {
    Count begin, end;
    BufferRoom* room;
    std::list<Piece>::iterator place;
    std::uint64_t number;  // in the order of sends
    std::unique_ptr<std::byte[]> own;
    std::byte* memory = nullptr;
  };
  // A piece that is given back unless somebody has taken it over, whatever happens: who detaches
  // the room waits for all of them.
  struct Drop {
    void operator()(Piece* piece) const { piece->room->drop(*piece); }
  };
  using Taken = std::unique_ptr<Piece, Drop>;
  class Cancellable;  // hooks of a request whose message is still in the room
  struct Flush {
    comm::Request* request;
    std::uint64_t up_to;  // pieces with numbers up to this one
    std::size_t left;
  };
  Piece* take(Count bytes);
  // The message in its piece, and its send; null: no room, or its receiver was told of a failure.
  Taken pack(comm::Communicator& comm, const types::Buffer& message, int dest, int tag);
  comm::Request* post(Taken& piece, comm::Communicator& comm, Count bytes, int dest, int tag);
  std::byte* find_gap(Count bytes, std::list<Piece>::iterator* before);
  static void on_sent(void* piece, const comm::Request& send);
  void drop(Piece& piece);

  std::byte* memory_;
  Count bytes_;
  bool is_limited_, is_hosts_;
  std::list<Piece> pieces_;  // by address
  std::uint64_t sends_ = 0;
  std::vector<Flush> flushes_;
};

// The process's room (owner null), or a communicator's or session's own; null: none attached.
std::unique_ptr<BufferRoom>& buffer_room(const Object* owner);
// Every message out of it, then it is gone: its owner is freed, or (null) MPI ends.
void close_buffer_room(const Object* owner);
// The room a send on `comm` uses: its own, else its session's, else the process's.
BufferRoom* room_for(const comm::Communicator& comm);

}  // namespace tutti::mpi
