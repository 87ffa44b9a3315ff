// Long messages out of a device's memory, read by the receiver's device.
//
// The sender's offer carries the key of its memory as that device's vendor exports it. The
// receiver's device copies it, once what the sender's caller gave the device before has ended, for
// which the sender alone can wait (device_ready.cc), and the message is taken. What neighbours
// cannot read where it lies is packed for them (device_pieces.cc). Where anything is refused, on
// either side, the message goes by frames as if nobody had asked.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "p2p/core.h"
#include "p2p/device_reads.h"

namespace tutti::p2p {
namespace {

// Of what is no collective's the short are not: their senders would wait for their receivers.
constexpr std::uint64_t kOthersPackedFrom = std::uint64_t{16} << 10;

// Whether a link to the peer moves a message of this length and kind of memory itself. A bulk link
// that is not made yet is believed; where it does not after all, nothing is lost but the waiting.
bool link_moves(const PeerState& peer, const Transfer& transfer) {
  const MemoryKinds kind = kinds_of(transfer.buffer.kind());
  if (peer.link != nullptr && (peer.link->kinds() & kind) != 0) return true;
  return std::any_of(peer.bulk.begin(), peer.bulk.end(), [&](const BulkLink& each) {
    const transport::Traits& traits = each.picked.traits;
    const MemoryKinds moves = each.link != nullptr ? each.link->kinds() : traits.kinds;
    return !traits.is_rail && transfer.total >= traits.bulk_from && (moves & kind) != 0;
  });
}

// Whether a link moves this message out of, or into, our device's memory itself: short ones come
// through host memory, in one frame.
bool is_moved(const PeerState& peer, const Transfer& transfer) {
  const types::Buffer& buffer = transfer.buffer;
  return buffer.device != nullptr && transfer.total > peer.eager_for(buffer) &&
         link_moves(peer, transfer) && buffer.is_one_run() && buffer.device->is_usable();
}

// Whether the message may be packed for the peer, if it cannot be read where it lies.
bool may_pack(const PeerState& peer, const Transfer& transfer) {
  const bool is_of_collective = transfer.fingerprint != 0;
  return transfer.total >= (is_of_collective ? Endpoint::kPackedFrom : kOthersPackedFrom) &&
         !peer.never_reads();
}

}  // namespace

const BulkLink* Core::reader_of(const PeerState& peer, MemoryKind kind) {
  for (const BulkLink& each : peer.readers)
    if ((each.picked.traits.kinds & kinds_of(kind)) != 0) return &each;
  return nullptr;
}

// Whether the peer shall be asked to read the message out of our device's memory: there is a link
// for that, and it has not said that messages of this size take less through host memory.
bool Core::is_read(const PeerState& peer, const Transfer& transfer) const {
  const types::Buffer& buffer = transfer.buffer;
  // A peer that never reads is not asked again about short messages: asking costs the most there.
  if (peer.never_reads() && transfer.total <= peer.eager_for(buffer)) return false;
  const bool is_there = reader_of(peer, buffer.kind()) != nullptr && buffer.device->is_usable();
  if (!is_there || transfer.total == 0 || transfer.bounces != nullptr) return false;
  return buffer.is_one_run() ? !peer.unasked.has(transfer.total)
                             : may_pack(peer, transfer) && peer.rank != wireup_.rank();
}

// What is in one piece.
Result<void> Core::expose(const PeerState& peer, Transfer* transfer, const types::Buffer& where) {
  const BulkLink* const reader = reader_of(peer, where.kind());
  TUTTI_TRY(region, opened_.transports[reader->picked.index]->expose(
                        {where.at(), static_cast<std::size_t>(where.bytes), where.kind(),
                         where.device->number()}));
  transfer->region = std::move(region);
  return {};
}

// Where it lies, or else packed for the peer.
Result<void> Core::expose_device(const PeerState& peer, Transfer* transfer) {
  DeviceReads pieces(*this);
  if (!transfer->buffer.is_one_run()) return pieces.expose(peer, transfer);
  auto exposed = expose(peer, transfer, transfer->buffer);
  const bool is_own = peer.rank == wireup_.rank();
  if (!exposed && !is_own && may_pack(peer, *transfer) && pieces.expose(peer, transfer)) return {};
  return exposed;
}

// If its peer shall read this message, it then has a region. Otherwise it goes by frames.
void Core::expose_once(PeerState& peer, Transfer* transfer) {
  if (transfer->was_exposed) return;
  bytes_.stock(
      1, sizeof(Bounce));  // for the wait below: what is exposed without it is told of too soon
  transfer->was_exposed = transfer->holds = true;
  if (!is_read(peer, *transfer)) {
    peer.note_unasked(transfer->total);
    transfer->by_link = is_moved(peer, *transfer);
    peer.takes_moved = link_moves(peer, *transfer);
    const bool has_way = !peer.readers.empty() || peer.takes_moved;
    peer.takes_staged |= !has_way && peer.rank != wireup_.rank();
    if (!transfer->by_link) return;
  } else if (const auto exposed = expose_device(peer, transfer); !exposed) {
    if (peer.why_staged != exposed.error().text) {
      peer.why_staged = exposed.error().text;
      log::explain("messages to rank " + std::to_string(peer.rank) +
                   " go through host memory: " + peer.why_staged);
    }
    return;
  }
  Bounce* const fence = take_work(transfer, Bounce::Use::fence);
  transfer->waits_exposed = true;
  if (transfer->scratch != nullptr)
    DeviceReads::pack(transfer, 0, transfer->packed, fence);
  else
    begin_or_fail(fence, [&](Done* done) { transfer->buffer.device->await_caller(done); });
}

// What the caller gave our device before comes first, and then the grant, where the link is to
// write into that one's memory, or there is no place for the data meanwhile.
bool Core::start_move(PeerState& peer, Transfer* transfer) {
  const bool is_by_link = is_moved(peer, *transfer);
  if (!is_by_link && DeviceReads(*this).has_place(*transfer)) return false;
  Bounce* const ready = take_work(transfer, Bounce::Use::ready);
  transfer->by_link = is_by_link;
  transfer->phase = Phase::getting;
  transfer->packed = 0;  // nothing is read
  begin_or_fail(ready, [&](Done* done) { transfer->buffer.device->await_caller(done); });
  return true;
}

bool Core::reads_devices(int rank, MemoryKind kind) {
  const PeerState& peer = routed(rank);
  return !peer.was_not_read && reader_of(peer, kind) != nullptr;
}

bool Core::lets_read(int rank, const types::Buffer& buffer) {
  if (buffer.device == nullptr || !buffer.is_one_run()) return false;
  const BulkLink* const reader = reader_of(routed(rank), buffer.kind());
  return reader != nullptr && opened_.transports[reader->picked.index]
                                  ->expose({buffer.at(), static_cast<std::size_t>(buffer.bytes),
                                            buffer.kind(), buffer.device->number()})
                                  .has_value();
}

bool Core::start_device_get(PeerState& peer, Transfer* transfer) {
  const auto kind = std::to_integer<std::size_t>(transfer->key.front());
  if (kind >= kMemoryKinds) return false;
  auto* const reader = const_cast<BulkLink*>(reader_of(peer, static_cast<MemoryKind>(kind)));
  if (reader == nullptr) return false;
  if (DeviceReads(*this).comes_in_frames(peer, *reader, transfer)) return true;
  const auto start = [&]() -> Result<void> {
    if (reader->link == nullptr) TUTTI_DO(connect_bulk(peer, *reader));
    TUTTI_TRY(imported, reader->link->import(transfer->key));
    transfer->source_memory = std::move(imported);
    transfer->phase = Phase::getting;
    transfer->packed =
        transfer->is_in_pieces() ? std::min(transfer->total, kWindow) : transfer->total;
    return DeviceReads(*this).read(*reader, transfer);
  };
  const auto begun = start();
  peer.was_not_read = !begun;
  if (begun) return true;
  transfer->source_memory.reset();
  transfer->packed = 0;
  DeviceReads::end_judged(peer, transfer, false);
  if (log::explains() && peer.why_not_read != begun.error().text) {
    peer.why_not_read = begun.error().text;
    log::explain("messages from rank " + std::to_string(peer.rank) +
                 " come through host memory: " + peer.why_not_read);
  }
  return false;
}

// A message to ourselves out of a device's memory, or into it: no host memory between.
bool Core::start_own_copy(Transfer* transfer) {
  const Transfer* const sent = channel_.transfers.find(transfer->peer_id);
  if (sent == nullptr || sent->phase != Phase::offered || sent->peer != wireup_.rank())
    return false;
  if (sent->buffer.device == nullptr && transfer->buffer.device == nullptr) return false;
  Bounce* const got = take_work(transfer, Bounce::Use::get);
  const auto bytes = static_cast<types::Count>(transfer->total);
  transfer->phase = Phase::getting;
  transfer->packed = transfer->total;
  begin_or_fail(got, [&](Done* done) {
    types::begin_copy(sent->buffer.part(0, bytes), transfer->buffer.part(0, bytes), done);
  });
  return true;
}

}  // namespace tutti::p2p
