// What arrives: each frame to its transfer, messages to the receives they match.
#include <algorithm>
#include <cstring>
#include <limits>

#include "p2p/core.h"

namespace tutti::p2p {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<types::Count>::max();

}  // namespace

bool Core::on_frame(int from, const transport::FrameHeader& header, std::span<std::byte> payload) {
  // The kinds that carry messages are tried first, for speed; the others are looked up.
  const auto kind = static_cast<Kind>(header.kind);
  if (kind == Kind::eager || kind == Kind::offer) [[likely]]
    return on_message(from, header, payload);
  stock();
  FrameHandler* const handler = frames_.find(header.kind);
  const bool is_believed = kind == Kind::data
                               ? on_data(from, header, payload)
                               : handler != nullptr && handler->on_frame(from, header, payload);
  peer(from).credit += header.aux;  // behind what may throw: the frame comes again then
  return is_believed;
}

// A source is a place in a team, or, marked, a rank of the job (comm/meeting.cc). An eager
// message is all there; an offer tells of as many bytes as a buffer can have, and a key.
bool Core::is_sound_message(const transport::FrameHeader& header, std::size_t bytes) const {
  if (header.source >= peers_.size() &&
      (header.source ^ static_cast<std::uint32_t>(as_job_rank(0))) >= peers_.size()) [[unlikely]]
    return false;
  if (header.kind == static_cast<std::uint8_t>(Kind::eager)) [[likely]]
    return header.length == bytes;
  return header.length <= kMostBytes && bytes <= kMostKeyBytes;
}

bool Core::on_message(int from, const transport::FrameHeader& header,
                      std::span<std::byte> payload) {
  if (!is_sound_message(header, payload.size())) [[unlikely]]
    return false;
  PeerState& sender = peer(from);
  if (header.flags != 0) [[unlikely]]
    stock();                                    // who sent it is answered
  if (sender.placed != nullptr) [[unlikely]] {  // matched when place() was asked
    Transfer* const transfer = sender.placed;
    if (payload.data() != transfer->buffer.at()) return false;  // it was asked for another one
    sender.placed = nullptr;
    finish_delivery(sender, transfer, header, payload.size());
    return true;
  }
  Transfer* const transfer = static_cast<Transfer*>(channel_.posted.find(key_of(header)));
  if (transfer == nullptr) {
    keep(from, header, payload);
    return true;
  }
  const bool is_eager = header.kind == static_cast<std::uint8_t>(Kind::eager);
  if (is_eager && transfer->buffer.is_contiguous()) [[likely]] {
    channel_.posted.remove(transfer);
    deliver_flat(transfer, from, header, payload);
    return true;
  }
  stock_for(transfer, header, payload.size());
  channel_.posted.remove(transfer);
  if (is_eager) {
    deliver_eager(transfer, from, header, payload);
  } else {
    match_offer(transfer, from, header, payload);
    matched_.push_back(transfer);
    work_ = true;
  }
  return true;
}

// The receive whose data this frame is a part of. Null: none waits for such a part.
Transfer* Core::find_granted(int from, const transport::FrameHeader& header,
                             std::size_t bytes) const {
  Transfer* const transfer = channel_.transfers.find(low_of(header.cookie));
  const bool fits = transfer != nullptr && transfer->phase == Phase::granted &&
                    transfer->peer == from && is_part(*transfer, header, bytes);
  return fits ? transfer : nullptr;
}

// Where the payload of a long frame should be read to.
std::byte* Core::place(int from, const transport::FrameHeader& header, std::size_t bytes) {
  if (header.kind == static_cast<std::uint8_t>(Kind::data)) {
    Transfer* const transfer = find_granted(from, header, bytes);
    const bool is_flat = transfer != nullptr && transfer->buffer.is_contiguous();
    std::byte* const into = is_flat ? transfer->buffer.at() + header.length
                            : transfer != nullptr && transfer->buffer.device != nullptr
                                ? place_bounce(transfer, bytes)
                                : nullptr;
    if (into != nullptr) transfer->placed += bytes;
    return into;
  }
  if (header.kind != static_cast<std::uint8_t>(Kind::eager)) {
    FrameHandler* const handler = frames_.find(header.kind);
    return handler != nullptr ? handler->place(from, header, bytes) : nullptr;
  }
  PeerState& sender = peer(from);
  if (sender.placed != nullptr || !is_sound_message(header, bytes)) return nullptr;
  // Matching happens now: all earlier frames of this peer were delivered already. A receive
  // that will not take exactly these bytes in one run is left for on_frame to find again.
  PostedQueue& posted = channel_.posted;
  Transfer* const transfer = static_cast<Transfer*>(posted.find(key_of(header)));
  if (transfer == nullptr || !transfer->buffer.is_contiguous() ||
      static_cast<std::uint64_t>(transfer->buffer.bytes) < bytes || bytes == 0)
    return nullptr;
  posted.remove(transfer);
  meet(transfer, from, header);
  transfer->phase = Phase::placed;
  sender.placed = transfer;
  return transfer->buffer.at();
}

// A device's memory only where that waits for it (start_move).
Memory Core::place_any(int from, const transport::FrameHeader& header, std::size_t bytes) {
  Transfer* const transfer = header.kind == static_cast<std::uint8_t>(Kind::data)
                                 ? find_granted(from, header, bytes)
                                 : nullptr;
  if (transfer == nullptr || !transfer->by_link) return {place(from, header, bytes), bytes};
  transfer->placed += bytes;
  return {transfer->buffer.at() + header.length, bytes, transfer->buffer.kind(),
          transfer->buffer.device->number()};
}

// Ties a receive to the message that it takes: its status, and how many bytes will come.
void Core::meet(Transfer* transfer, int from, const transport::FrameHeader& header) {
  transfer->peer = from;
  peers_[static_cast<std::size_t>(from)]->credit += header.aux;
  Status& status = transfer->status;
  status.source = static_cast<int>(header.source);
  status.tag = header.tag;
  status.bytes = static_cast<std::int64_t>(header.length);
  if (status.bytes > transfer->buffer.bytes) [[unlikely]] {
    transfer->came = header.length;
    status.bytes = transfer->buffer.bytes;
    status.code = Code::truncate;
  }
  ++counted_.messages_received;
  counted_.bytes_received += static_cast<std::uint64_t>(status.bytes);
  const std::uint32_t theirs = low_of(header.cookie);
  const GaveUp gave_up = gave_up_of(header.flags);
  if ((theirs != transfer->fingerprint && theirs != 0) || gave_up != GaveUp::no) [[unlikely]]
    other_calls_.meet(*transfer, theirs, gave_up);
}

inline void Core::deliver_flat(Transfer* transfer, int from, const transport::FrameHeader& header,
                               std::span<const std::byte> payload) {
  meet(transfer, from, header);
  const auto bytes = static_cast<std::size_t>(transfer->status.bytes);
  if (bytes > 0) std::memcpy(transfer->buffer.at(), payload.data(), bytes);
  finish_delivery(*peers_[static_cast<std::size_t>(from)], transfer, header, payload.size());
}

void Core::deliver_eager(Transfer* transfer, int from, const transport::FrameHeader& header,
                         std::span<const std::byte> payload) {
  if (transfer->buffer.is_contiguous()) return deliver_flat(transfer, from, header, payload);
  meet(transfer, from, header);
  const auto bytes = static_cast<std::size_t>(transfer->status.bytes);
  if (transfer->buffer.device != nullptr) {
    if (bytes > 0 && transfer->buffer.device->stands_behind_caller() &&
        !flood_.has_room_for_devices(bytes_.in_use())) {
      transfer->is_unanswered = true;
      transfer->peer_id = high_of(header.cookie);
      transfer->key_flags = header.flags;
      transfer->came = payload.size();
      unpack_later(transfer, 0, payload.first(bytes));
      return complete(transfer);
    }
    unpack_later(transfer, 0, payload.first(bytes));
  } else {
    types::unpack(transfer->buffer, 0, payload.first(bytes));
  }
  finish_delivery(*peers_[static_cast<std::size_t>(from)], transfer, header, payload.size());
}

void Core::finish_delivery(PeerState& peer, Transfer* transfer,
                           const transport::FrameHeader& header, std::size_t bytes) {
  if (header.flags == 0) [[likely]]
    consumed(peer, bytes);
  else
    answer_eager(peer, header.flags, high_of(header.cookie), bytes);
  complete(transfer);
}

// Its sender may send more, and is told if it waits for that.
void Core::answer_eager(PeerState& peer, std::uint8_t flags, std::uint32_t id, std::size_t bytes) {
  if ((flags & kOwesNothing) == 0) consumed(peer, bytes);
  if ((flags & kWantsTaken) != 0) queue_control(peer, Kind::taken, 0, id);
}

}  // namespace tutti::p2p
