// First fit in the attached room; pieces are given back in any order.
#include "mpi/buffered.h"

#include <map>

#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

using Rooms = std::map<const comm::Communicator*, std::unique_ptr<BufferRoom>>;

Rooms& rooms() {
  static Rooms all;
  return all;
}

}  // namespace

std::unique_ptr<BufferRoom>& buffer_room(const comm::Communicator* comm) {
  return rooms()[comm];
}

void close_buffer_room(const comm::Communicator* comm) {
  const auto found = rooms().find(comm);
  if (found == rooms().end()) return;
  if (found->second != nullptr) found->second->flush();
  rooms().erase(found);
}

BufferRoom* room_for(const comm::Communicator& comm) {
  const Rooms& all = rooms();
  auto found = all.find(&comm);
  if (found == all.end() || found->second == nullptr) found = all.find(nullptr);
  return found == all.end() ? nullptr : found->second.get();
}

void BufferRoom::drop_done() {
  for (auto piece = pieces_.begin(); piece != pieces_.end();) {
    if (piece->send->is_done()) {
      piece->send->release();
      piece = pieces_.erase(piece);
    } else {
      ++piece;
    }
  }
}

// Null when no gap is large enough; else `before` is where the piece goes in the list.
std::byte* BufferRoom::place(Count bytes, std::list<Piece>::iterator* before) {
  drop_done();
  Count free_from = 0;
  for (*before = pieces_.begin(); *before != pieces_.end(); ++*before) {
    if ((*before)->begin - free_from >= bytes) break;
    free_from = (*before)->end;
  }
  if (*before == pieces_.end() && bytes_ - free_from < bytes) return nullptr;
  return memory_ + free_from;
}

Code BufferRoom::send(comm::Communicator& comm, const types::Buffer& message, int dest, int tag) {
  Piece piece{0, 0, nullptr, nullptr};
  auto before = pieces_.end();
  std::byte* at = nullptr;
  if (memory_ == static_cast<void*>(MPI_BUFFER_AUTOMATIC)) {
    drop_done();
    piece.own = std::make_unique<std::byte[]>(static_cast<std::size_t>(message.bytes));
    at = piece.own.get();
    before = pieces_.end();
  } else {
    at = place(message.bytes, &before);
    for (int round = 0; at == nullptr && round < 100; ++round) {
      comm::progress(comm.world());
      at = place(message.bytes, &before);
    }
    if (at == nullptr)
      return refuse(Code::buffer, "the attached buffer has no room for " +
                                      std::to_string(message.bytes) + " bytes more");
    piece.begin = at - memory_;
    piece.end = piece.begin + message.bytes;
  }
  types::pack(message, 0, {at, static_cast<std::size_t>(message.bytes)});
  piece.send =
      comm::isend(comm, p2p::Mode::standard, at, message.bytes, *type_of(MPI_PACKED), dest, tag);
  pieces_.insert(before, std::move(piece));
  return Code::ok;
}

void BufferRoom::flush() {
  for (const Piece& piece : pieces_) comm::wait(piece.send->comm()->world(), *piece.send);
  drop_done();
}

}  // namespace tutti::mpi
