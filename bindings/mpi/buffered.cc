// First fit in the attached room; pieces are given back in any order.
#include "mpi/buffered.h"

#include <algorithm>
#include <map>
#include <utility>

#include "mpi/memory.h"
#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

using Rooms = std::map<Handle, std::unique_ptr<BufferRoom>>;  // by the owner's; 0: the process's

Rooms& rooms() {
  static auto& all = *new Rooms;  // kept: see process.h
  return all;
}

Handle handle_of(const Object* owner) {
  return owner == nullptr ? 0 : owner->handle();
}

}  // namespace

std::unique_ptr<BufferRoom>& buffer_room(const Object* owner) {
  return rooms()[handle_of(owner)];
}

void close_buffer_room(const Object* owner) {
  // Others may use it, or be at the same, while we wait.
  for (;;) {
    const auto found = rooms().find(handle_of(owner));
    if (found == rooms().end()) return;
    if (found->second == nullptr || found->second->is_empty()) {
      rooms().erase(found);
      return;
    }
    found->second->flush();
  }
}

BufferRoom* room_for(const comm::Communicator& comm) {
  const Rooms& all = rooms();
  for (const Handle owner : {comm.handle(), comm.group().session, Handle{0}}) {
    const auto found = all.find(owner);
    if (found != all.end() && found->second != nullptr) return found->second.get();
  }
  return nullptr;
}

BufferRoom::BufferRoom(void* memory, Count bytes)
    : memory_(static_cast<std::byte*>(memory)),
      bytes_(bytes),
      is_limited_(memory != MPI_BUFFER_AUTOMATIC),
      is_hosts_(is_limited_ && bytes_at(memory, bytes).device == nullptr) {}

// Null when no gap is large enough; else `before` is where the piece goes in the list.
std::byte* BufferRoom::find_gap(Count bytes, std::list<Piece>::iterator* before) {
  Count free_from = 0;
  for (*before = pieces_.begin(); *before != pieces_.end(); ++*before) {
    if ((*before)->begin - free_from >= bytes) break;
    free_from = (*before)->end;
  }
  if (*before == pieces_.end() && bytes_ - free_from < bytes) return nullptr;
  return memory_ + free_from;
}

// A piece in the list, with memory for so many bytes; null: no room, noted.
BufferRoom::Piece* BufferRoom::take(Count bytes) {
  Piece piece{0, 0, this, {}, ++sends_, nullptr, nullptr};
  auto before = pieces_.end();
  if (is_limited_) {
    piece.memory = find_gap(bytes, &before);
    for (int round = 0; piece.memory == nullptr && round < 100; ++round) {
      comm::progress(process.self_comm->runtime());
      piece.memory = find_gap(bytes, &before);
    }
    if (piece.memory == nullptr) {
      refuse(Code::buffer,
             "the attached buffer has no room for " + std::to_string(bytes) + " bytes more");
      return nullptr;
    }
    piece.begin = piece.memory - memory_;
    piece.end = piece.begin + bytes;
  }
  if (!is_hosts_) {
    piece.own = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes));
    piece.memory = piece.own.get();
  }
  const auto place = pieces_.insert(before, std::move(piece));
  place->place = place;
  return &*place;
}

BufferRoom::Taken BufferRoom::pack(comm::Communicator& comm, const types::Buffer& message, int dest,
                                   int tag) {
  Taken taken(take(message.bytes));
  if (taken == nullptr) return nullptr;
  if (copy_message(message, types::Buffer::plain(taken->memory, message.bytes)) == Code::ok)
    return taken;
  comm::send_failure(comm, dest, tag);
  refuse(Code::buffer, "the message could not be copied from its GPU; see the line above");
  return nullptr;
}

// What left at once is out of the room.
comm::Request* BufferRoom::post(Taken& piece, comm::Communicator& comm, Count bytes, int dest,
                                int tag) {
  comm::Request* const send =
      comm::isend(comm, p2p::Mode::standard, piece->memory, bytes, *type_of(MPI_PACKED), dest, tag);
  if (send->is_done()) piece.reset();
  return send;
}

Code BufferRoom::send(comm::Communicator& comm, const types::Buffer& message, int dest, int tag) {
  Taken piece = pack(comm, message, dest, tag);
  if (piece == nullptr) return Code::buffer;
  comm::Request* const send = post(piece, comm, message.bytes, dest, tag);
  const Code code = send->is_done() ? send->status().code : Code::ok;
  if (!send->is_done()) send->when_done(&on_sent, piece.release());
  send->release();
  return code;
}

// A buffered send is done at once, whatever becomes of its message. Cancelled (MPI 5.0, 3.8.4), it
// waits again, for what becomes of it.
class BufferRoom::Cancellable final : public comm::Hooks {
 public:
  Cancellable(Piece* piece, Ref<comm::Request> send) : piece_(piece), send_(std::move(send)) {}
  void watch(comm::Request* own) {
    own_ = own;
    own_->retain();  // until the send is done
    send_->when_done(&on_sent, this);
  }
  Code cancel(bool /*is_done*/) override {
    if (std::exchange(is_asked_, true)) return Code::ok;
    comm::reopen(*own_);
    const bool has_left = send_->is_done();
    comm::cancel(*send_);
    if (!has_left) return Code::ok;
    if (send_->is_done())
      comm::complete(*own_, send_->status());
    else
      watch(own_);
    return Code::ok;
  }

 private:
  static void on_sent(void* self, const comm::Request& send) {
    auto& mine = *static_cast<Cancellable*>(self);
    if (mine.piece_ != nullptr) {
      BufferRoom& room = *mine.piece_->room;
      room.drop(*std::exchange(mine.piece_, nullptr));
    }
    comm::Request& own = *mine.own_;
    if (mine.is_asked_) comm::complete(own, send.status());
    own.release();
  }

  Piece* piece_;  // null: out of the room
  Ref<comm::Request> send_;
  comm::Request* own_ = nullptr;
  bool is_asked_ = false;
};

comm::Request* BufferRoom::start_send(comm::Communicator& comm, const types::Buffer& message,
                                      int dest, int tag) {
  Taken taken = pack(comm, message, dest, tag);
  if (taken == nullptr) return nullptr;
  comm::Request* const send = post(taken, comm, message.bytes, dest, tag);
  if (send->is_done()) return send;
  auto kept = Ref<comm::Request>::adopt(send);
  Piece* const piece = taken.release();
  send->when_done(&on_sent, piece);  // even if there is no memory for what follows
  auto hooks = std::make_unique<Cancellable>(piece, std::move(kept));
  Cancellable& cancellable = *hooks;
  comm::Request* const own = comm::open_request(comm, std::move(hooks));
  comm::complete(*own, {});
  cancellable.watch(own);
  return own;
}

void BufferRoom::on_sent(void* piece, const comm::Request&) {
  auto& done = *static_cast<Piece*>(piece);
  done.room->drop(done);
}

void BufferRoom::drop(Piece& piece) {
  for (Flush& each : flushes_)
    if (piece.number <= each.up_to && --each.left == 0) comm::complete(*each.request, {});
  flushes_.erase(std::remove_if(flushes_.begin(), flushes_.end(),
                                [](const Flush& each) { return each.left == 0; }),
                 flushes_.end());
  pieces_.erase(piece.place);
}

comm::Request* BufferRoom::start_flush() {
  comm::Request* const request = comm::open_request(*process.self_comm, nullptr);
  if (pieces_.empty())
    comm::complete(*request, {});
  else
    flushes_.push_back({request, sends_, pieces_.size()});
  return request;
}

void BufferRoom::flush() {
  if (pieces_.empty()) return;
  comm::Request* const request = start_flush();
  comm::wait(process.self_comm->runtime(), *request);
  request->release();
}

}  // namespace tutti::mpi
