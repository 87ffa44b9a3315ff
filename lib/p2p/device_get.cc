// Long messages out of a device's memory, read by the receiver's device.
//
// The sender's offer carries the key of its memory as that device's vendor exports it, once what
// the caller gave the device before has ended: nobody else can wait for that. The receiver's device
// copies all of it at once, then the message is taken. Where anything is refused, on either side,
// the message goes by frames as if nobody had asked.
#include <algorithm>

#include "base/log.h"
#include "p2p/core.h"

namespace tutti::p2p {
namespace {

constexpr std::uint32_t kMostUnread = 8;

// Whether a link to the peer moves a message of this length and kind of memory itself. A bulk link
// that is not made yet is believed; where it does not after all, nothing is lost but the waiting.
bool link_moves(const PeerState& peer, const Transfer& transfer) {
  const MemoryKinds kind = kinds_of(transfer.buffer.kind());
  if (peer.link != nullptr && (peer.link->kinds() & kind) != 0) return true;
  return std::any_of(peer.bulk.begin(), peer.bulk.end(), [&](const BulkLink& each) {
    const transport::Traits& traits = each.picked.traits;
    const MemoryKinds moves = each.link != nullptr ? each.link->kinds() : traits.kinds;
    return transfer.total >= traits.bulk_from && (moves & kind) != 0;
  });
}

// Whether a link moves this message out of, or into, our device's memory itself: short ones come
// through host memory, in one frame.
bool is_moved(const PeerState& peer, const Transfer& transfer) {
  const types::Buffer& buffer = transfer.buffer;
  return buffer.device != nullptr && transfer.total > peer.eager_bytes &&
         link_moves(peer, transfer) && buffer.is_one_run() && buffer.device->is_usable();
}

}  // namespace

const BulkLink* Core::reader_of(const PeerState& peer, MemoryKind kind) {
  for (const BulkLink& each : peer.readers)
    if ((each.picked.traits.kinds & kinds_of(kind)) != 0) return &each;
  return nullptr;
}

// Whether the peer shall read the message out of our device's memory: there is a link for that, the
// message lies in one piece, and reading takes less than the way through host memory.
bool Core::is_read(const PeerState& peer, const Transfer& transfer) {
  const types::Buffer& buffer = transfer.buffer;
  // A peer that never reads is not asked again about short messages: asking costs the most there.
  if (peer.unread >= kMostUnread && transfer.total <= peer.eager_bytes) return false;
  return reader_of(peer, buffer.kind()) != nullptr && transfer.total > 0 && buffer.is_one_run() &&
         buffer.device->is_usable() && transfer.total >= buffer.device->pace().read_from;
}

Result<void> Core::expose_device(const PeerState& peer, Transfer* transfer) {
  const types::Buffer& buffer = transfer->buffer;
  const BulkLink* const reader = reader_of(peer, buffer.kind());
  TUTTI_TRY(region, opened_.transports[reader->picked.index]->expose(
                        {buffer.at(), transfer->total, buffer.kind(), buffer.device->number()}));
  transfer->region = std::move(region);
  transfer->holds = true;
  return {};
}

// Whether this message may be opened: if its peer shall read it, it then has a region. Otherwise it
// goes by frames.
bool Core::is_exposed(PeerState& peer, Transfer* transfer) {
  if (transfer->was_exposed) return !transfer->waits_exposed;
  transfer->was_exposed = true;
  transfer->holds = true;
  if (!is_read(peer, *transfer)) {
    transfer->by_link = is_moved(peer, *transfer);
    peer.takes_moved = link_moves(peer, *transfer);
    const bool has_way = !peer.readers.empty() || peer.takes_moved;
    peer.takes_staged |= !has_way && peer.rank != wireup_.rank();
    if (!transfer->by_link) return true;
  } else if (const auto exposed = expose_device(peer, transfer); !exposed) {
    if (peer.why_staged != exposed.error().text) {
      peer.why_staged = exposed.error().text;
      log::explain("messages to rank " + std::to_string(peer.rank) +
                   " go through host memory: " + peer.why_staged);
    }
    return true;
  }
  transfer->waits_exposed = true;
  begin_copy(transfer);
  transfer->buffer.device->await_caller(take_work(transfer, Bounce::Use::fence));
  return !transfer->waits_exposed;
}

// Where the link is to write into our device's memory, what the caller gave that before comes
// first; then the grant.
bool Core::start_move(PeerState& peer, Transfer* transfer) {
  if (!is_moved(peer, *transfer)) return false;
  transfer->by_link = true;
  transfer->phase = Phase::getting;
  begin_copy(transfer);
  transfer->buffer.device->await_caller(take_work(transfer, Bounce::Use::ready));
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
  const auto start = [&]() -> Result<void> {
    if (reader->link == nullptr) TUTTI_DO(connect_bulk(peer, *reader));
    TUTTI_TRY(imported, reader->link->import(transfer->key));
    transfer->source_memory = std::move(imported);
    transfer->phase = Phase::getting;
    begin_copy(transfer);
    Bounce* const got = take_work(transfer, Bounce::Use::get);
    const auto begun = reader->link->get(
        *transfer->source_memory, 0,
        transfer->buffer.part(0, static_cast<types::Count>(transfer->total)), got);
    if (!begun) {
      forget_copy(transfer);
      give_bounce(got);
    }
    return begun;
  };
  const auto begun = start();
  peer.was_not_read = !begun;
  if (begun) return true;
  transfer->source_memory.reset();
  if (log::explains())
    log::explain("message from rank " + std::to_string(peer.rank) +
                 " comes through host memory: " + begun.error().text);
  return false;
}

// A message to ourselves out of a device's memory, or into it: no host memory between.
bool Core::start_own_copy(Transfer* transfer) {
  const Transfer* const sent = channel_.transfers.find(transfer->remote);
  if (sent == nullptr || sent->phase != Phase::offered || sent->peer != wireup_.rank())
    return false;
  if (sent->buffer.device == nullptr && transfer->buffer.device == nullptr) return false;
  const auto bytes = static_cast<types::Count>(transfer->total);
  transfer->phase = Phase::getting;
  begin_copy(transfer);
  types::begin_copy(sent->buffer.part(0, bytes), transfer->buffer.part(0, bytes),
                    take_work(transfer, Bounce::Use::get));
  return true;
}

// Inside a device's progress.
void Core::end_device_get(Transfer* transfer, bool ok) {
  PeerState& from = *peers_[static_cast<std::size_t>(transfer->peer)];
  if (ok) {
    transfer->moved = transfer->total;
    queue_control(from, Kind::taken, 0, transfer->remote);
    return from.gone ? complete(transfer) : end_answered(transfer);
  }
  if (from.gone) return fail_with(transfer, from.failure);
  if (transfer->failure != Code::ok) return give_up_getting(from, transfer);
  transfer->source_memory.reset();
  grant(from, transfer);
}

}  // namespace tutti::p2p
