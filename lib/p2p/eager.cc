// Eager messages: one frame that carries envelope and data, sent without asking.
//
// The sender pays for each with credit, as if it stayed unmatched; the receiver gives the
// credit back when a receive has taken the message, or when it is kept and there is memory for it
// (kept.cc), on the next frame that goes the other way or, from a quarter of the window on, in a
// frame of its own. A sender without credit offers
// its message instead (rendezvous.cc): it waits for its receive, nothing is lost. A message so
// short that keeping it takes no more than keeping an offer goes along with the asking.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/log.h"
#include "p2p/core.h"
#include "p2p/device_reads.h"
#include "p2p/keep_those.h"

namespace tutti::p2p {
namespace {

// From here a pending send lends its buffer to the link instead of having it copied there.
constexpr std::size_t kPinFrom = 4096;
// Payload bytes that fit in the block of a kept message, behind its record.
constexpr std::size_t kBesideRecord = BytePool::kSmallest - sizeof(KeptMessage);
static_assert(sizeof(KeptMessage) < BytePool::kSmallest);

transport::FrameHeader header_of(Kind kind, const Envelope& envelope, const PeerState& peer) {
  transport::FrameHeader header;
  header.context = envelope.context;
  header.tag = envelope.tag;
  header.source = static_cast<std::uint32_t>(envelope.source);
  header.kind = static_cast<std::uint8_t>(kind);
  header.aux = static_cast<std::uint16_t>(std::min(peer.owed, kMostReturned));
  return header;
}

// A number by which the messages that a peer keeps at a time are told apart.
std::uint32_t next_number(const PeerState& peer) {
  return static_cast<std::uint32_t>(peer.messages_sent) | 1U << 31;
}

// What its device could not pack is nothing to send: its receiver is told so in its place.
void become_word(Transfer* transfer) {
  transfer->total = 0;
  transfer->mode = Mode::standard;
  transfer->gave_up = GaveUp::failed;
}

}  // namespace

std::uint32_t Core::try_send(int rank, const Envelope& envelope, const void* data,
                             std::size_t bytes) {
  PeerState* const peer = peers_[static_cast<std::size_t>(rank)].get();
  if (peer == nullptr || static_cast<std::int64_t>(bytes) > peer->open_bytes) [[unlikely]] {
    if (peer != nullptr && peer->link != nullptr) return 0;
    if (connected(rank).link == nullptr) return 0;
    if (static_cast<std::int64_t>(bytes) > this->peer(rank).open_bytes) return 0;
    return try_send(rank, envelope, data, bytes);
  }
  const std::uint32_t cost = cost_of(bytes);
  if (cost > peer->credit) [[unlikely]]
    return 0;
  transport::FrameHeader header = header_of(Kind::eager, envelope, *peer);
  header.length = bytes;
  const std::uint32_t number = next_number(*peer);
  header.cookie = cookie_of(envelope.fingerprint, number);
  // Booked before: a link to oneself delivers, and returns credit, inside try_post.
  const std::uint32_t returned = header.aux;
  peer->credit -= cost;
  peer->owed -= returned;
  Booked booked([&] {
    peer->credit += cost;
    peer->owed += returned;
  });
  const transport::FrameView frame{&header, static_cast<const std::byte*>(data), bytes, nullptr};
  if (!booked.holds(peer->link->try_post(frame))) [[unlikely]]
    return 0;
  count_sent(*peer, bytes);
  return number;
}

// A message to ourselves is nothing that a link tells of: a thread of ours may sleep until it
// comes.
void Core::count_sent(PeerState& peer, std::uint64_t bytes) {
  ++peer.messages_sent;
  peer.bytes_sent += bytes;
  if (peer.rank == wireup_.rank()) waiter_->busy();
}

Pending* Core::send(Mode mode, int rank, const Envelope& envelope, const types::Buffer& buffer) {
  Transfer* const transfer = channel_.transfers.take();
  transfer->begin(Phase::waiting, rank, envelope, buffer);
  transfer->mode = mode;
  try {
    if (const Code code = why_cancelled(envelope); code != Code::ok) [[unlikely]] {
      fail_with(transfer, code);
      return transfer;
    }
    PeerState& to = connected(rank);
    if (to.gone) {
      fail_with(transfer, to.failure);
      return transfer;
    }
    if (buffer.device != nullptr && transfer->total <= to.packed_bytes && !is_read(to, *transfer))
      pack_whole(transfer);
    // Credit may have come back unseen: who only sends does not look.
    if (transfer->total <= to.eager_for(buffer) && cost_of(transfer->total) > to.credit) poll();
    if (!to.waiting.is_empty() || to.is_recalling || !post_first(to, transfer)) {
      list_busy(to);
      to.waiting.push(transfer);
      update_open(to);
    }
  } catch (...) {  // before anything of it was posted
    abandon(transfer);
    throw;
  }
  return transfer;
}

// Nobody is there to answer, or to make room; what needs neither is dropped there.
void Core::post_to_who_left(PeerState& peer, Transfer* transfer) {
  const bool is_plain = transfer->total <= peer.eager_for(transfer->buffer) &&
                        transfer->buffer.device == nullptr && transfer->mode != Mode::synchronous &&
                        cost_of(transfer->total) <= peer.credit;
  if (!is_plain || !post_eager(peer, transfer, true)) fail_with(transfer, peer.failure);
}

// Posts the frame that opens a message. False: no room, or the device is about to have packed it;
// nothing happened. What the device's caller keeps it from is offered: its data follow.
bool Core::post_first(PeerState& peer, Transfer* transfer) {
  if (peer.left) [[unlikely]] {
    post_to_who_left(peer, transfer);
    return true;
  }
  const bool is_of_device = transfer->buffer.device != nullptr;
  if (is_of_device) [[unlikely]]
    expose_once(peer, transfer);
  const bool is_whole = transfer->total <= peer.eager_for(transfer->buffer) &&
                        (!is_of_device || transfer->region == nullptr);
  if (is_of_device) [[unlikely]] {
    const bool is_there = is_whole ? pack_whole(transfer) : !transfer->waits_exposed;
    if (!is_there) {
      if (!transfer->buffer.device->stands_behind_caller()) return false;
      return post_offer(peer, transfer);
    }
    if (is_whole && transfer->failure != Code::ok) become_word(transfer);
  }
  if (is_whole) {
    if (cost_of(transfer->total) <= peer.credit) return post_eager(peer, transfer, true);
    explain_flood(peer);
    const bool goes_along = transfer->total <= kBesideRecord;
    if (goes_along ? !post_eager(peer, transfer, false) : !post_offer(peer, transfer)) return false;
    ++counted_.sends_delayed;
    tell({Happening::What::send_delayed, peer.rank, transfer->tag,
          static_cast<std::int64_t>(transfer->total)});
    return true;
  }
  return post_offer(peer, transfer);
}

bool Core::post_eager(PeerState& peer, Transfer* transfer, bool is_charged) {
  const bool confirms = transfer->mode == Mode::synchronous || !is_charged;
  const std::size_t bytes = transfer->total;
  const bool lies_flat = transfer->buffer.is_contiguous();
  const bool pins = lies_flat && !confirms && bytes >= kPinFrom;
  transport::FrameHeader header =
      header_of(Kind::eager, {transfer->context, transfer->source, transfer->tag, 0}, peer);
  header.length = bytes;
  header.flags = flags_of(transfer->gave_up);
  if (confirms) header.flags |= is_charged ? kWantsTaken : kWantsTaken | kFreeEager;
  if (confirms) transfer->is_asked_back = false;
  if (transfer->mode != Mode::synchronous && !is_charged) header.flags |= kUntilKept;
  const std::uint32_t number = next_number(peer);
  header.cookie = cookie_of(transfer->fingerprint, confirms ? transfer->id : number);
  const std::byte* const data = bytes == 0  ? nullptr
                                : lies_flat ? transfer->buffer.at()
                                            : stage(transfer, 0, bytes).data();
  const std::uint32_t cost = is_charged ? cost_of(bytes) : 0;
  const std::uint32_t returned = header.aux;
  peer.credit -= cost;
  peer.owed -= returned;
  transfer->in_flight = pins ? 1 : 0;
  // Sent to oneself, it may be confirmed inside try_post.
  transfer->phase = confirms ? Phase::unconfirmed : Phase::waiting;
  Booked booked([&] {
    peer.credit += cost;
    peer.owed += returned;
    transfer->in_flight = 0;
    transfer->phase = Phase::waiting;
  });
  if (!booked.holds(peer.link->try_post({&header, data, bytes, pins ? &transfer->pin : nullptr})))
    return false;
  count_sent(peer, bytes);
  if (transfer->holds) drop_held(transfer);
  if (confirms) return true;
  transfer->number = number;
  transfer->phase = Phase::pinned;
  if (transfer->in_flight == 0) {
    transfer->status.code = transfer->failure;
    complete(transfer);
  }
  return true;
}

// Bytes [offset, offset + bytes) of a non-contiguous message, packed. Kept until posted, so a
// full link does not make us pack again.
std::span<const std::byte> Core::stage(Transfer* transfer, std::uint64_t offset,
                                       std::size_t bytes) {
  if (transfer->buffer.device != nullptr) return {transfer->bounces->memory(), bytes};
  if (transfer->staging == nullptr || transfer->staging_bytes < bytes) {
    auto* const longer = static_cast<std::byte*>(bytes_.take(bytes));
    if (transfer->staging != nullptr) bytes_.give(transfer->staging, transfer->staging_bytes);
    transfer->holds = true;
    transfer->staging_bytes = bytes;
    transfer->staging = longer;
    transfer->staged = 0;
  }
  if (transfer->staged != bytes) {
    types::pack(transfer->buffer, static_cast<types::Count>(offset), {transfer->staging, bytes});
    transfer->staged = bytes;
  }
  return {transfer->staging, bytes};
}

// Frees what the send needed on its way; the peer reads its memory no more.
bool Core::drop_held(Transfer* transfer) {
  if (transfer->copies > 0) {
    transfer->phase = Phase::copying;
    return false;
  }
  transfer->holds = false;
  if (transfer->buffer.device != nullptr) drop_bounces(transfer);
  if (transfer->staging != nullptr) bytes_.give(transfer->staging, transfer->staging_bytes);
  transfer->staging = nullptr;
  transfer->region.reset();
  transfer->source_memory.reset();
  if (transfer->is_judged) [[unlikely]] {
    const bool well = transfer->status.code == Code::ok;
    if (transfer->key_flags != 0)
      DeviceReads::end_judged(peer(transfer->peer), transfer, well);
    else
      peer(transfer->peer).ways->end(transfer->way, well, now_ns());
    transfer->is_judged = false;
  }
  return true;
}

void Core::drop_all_held() {
  for (std::uint32_t id = 0; id < channel_.transfers.count(); ++id)
    drop_held(channel_.transfers.find(id));
}

// A receive has taken an eager message of this peer: its credit can go back.
void Core::consumed(PeerState& peer, std::size_t bytes) {
  peer.owed += cost_of(bytes);
  if (peer.owed >= return_from_ && peer.control_first == nullptr) [[unlikely]]
    queue_credit(peer);
}

void Core::queue_credit(PeerState& peer) {
  try {
    queue_control(peer, Kind::credit, 0, 0);
  } catch (const std::bad_alloc&) {  // it goes with the next frame there, or after the next message
  }
}

void Core::explain_flood(PeerState& peer) {
  if (peer.explained_flood) return;
  peer.explained_flood = true;
  log::explain("rank " + std::to_string(wireup_.rank()) + " sends to rank " +
               std::to_string(peer.rank) +
               " faster than that receives; its sends wait from here on (TUTTI_UNEXPECTED_BYTES)");
}

}  // namespace tutti::p2p
