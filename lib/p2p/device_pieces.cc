// Messages read out of a device's memory, and those that nobody can read where they lie: of layouts
// that are not one piece, or in memory that is nobody else's to open, such as managed memory.
//
// The latter the sender's device packs into temporary memory of its own, which neighbours reach,
// and the offer carries the key to that. It is a window of a few pieces. A message that is longer
// goes on in pieces, so that one device packs while the other reads:
//
//   sender                        receiver
//   offer, a window is packed ->  reads a piece
//          <------------- emptied ... and the next one, which is there already
//   packs one more in its place
//   refilled ----------------->   ... until all is read
//          <------------- taken
//
// Each emptied is answered by one refilled, and the receiver ends no such message before it has all
// of its answers: so none of them ever meets another message. Where there is no memory to pack
// into, or the peer cannot read that, the message goes by frames.
#include <algorithm>
#include <utility>

#include "p2p/device_reads.h"

namespace tutti::p2p {

Result<void> DeviceReads::expose(const PeerState& peer, Transfer* transfer) {
  types::Device& device = *transfer->buffer.device;
  const std::uint64_t bytes = std::min(transfer->total, kWindow);
  transfer->scratch = device.take_scratch(bytes);
  if (transfer->scratch == nullptr)
    return fail(Code::other, "the GPU has no memory now to pack them into");
  auto window = types::Buffer::plain(transfer->scratch, static_cast<types::Count>(bytes));
  window.device = &device;
  Result<void> exposed;
  try {
    exposed = core_.expose(peer, transfer, window);
  } catch (...) {
    device.give_scratch(std::exchange(transfer->scratch, nullptr));
    throw;
  }
  if (!exposed) {
    device.give_scratch(std::exchange(transfer->scratch, nullptr));
    return exposed;
  }
  transfer->packed = bytes;
  transfer->moved = 0;
  return {};
}

void DeviceReads::pack(Transfer* transfer, std::uint64_t at, std::uint64_t bytes, Bounce* work) {
  const auto count = static_cast<types::Count>(bytes);
  auto into = types::Buffer::plain(transfer->scratch + at % kWindow, count);
  into.device = transfer->buffer.device;
  begin_or_fail(work, [&](Done* done) {
    into.device->copy(transfer->buffer.part(static_cast<types::Count>(at), count), into, done);
  });
}

// Packs what is next if there is room for it. What cannot be had is answered all the same.
void DeviceReads::refill(Transfer* transfer) {
  while (transfer->packed < std::min(transfer->total, transfer->moved + kWindow)) {
    const std::uint64_t at = transfer->packed, bytes = std::min(kPiece, transfer->total - at);
    Bounce* const work =
        transfer->failure == Code::ok ? core_.take_work(transfer, Bounce::Use::piece) : nullptr;
    transfer->packed += bytes;
    if (work != nullptr) return pack(transfer, at, bytes, work);
    core_.queue_control(core_.peer(transfer->peer), Kind::refilled, 0, transfer->peer_id);
  }
}

// Inside a device's progress.
void DeviceReads::end_packed(Transfer* transfer) {
  const bool is_there = transfer->failure == Code::ok;
  core_.queue_control(core_.peer(transfer->peer), Kind::refilled, is_there ? 1 : 0,
                      transfer->peer_id);
  refill(transfer);
}

bool DeviceReads::on_emptied(int from, const transport::FrameHeader& header) {
  Transfer* const transfer =
      core_.find_active(low_of(header.cookie), from, Phase::offered, "emptied");
  if (transfer == nullptr) return true;
  // In order, and only while there is more than the window has.
  const bool is_expected = transfer->scratch != nullptr &&
                           header.length == transfer->moved + kPiece &&
                           transfer->moved + kWindow < transfer->total;
  if (!is_expected) return false;
  transfer->moved = header.length;
  transfer->peer_id = high_of(header.cookie);
  if (transfer->copies == 0) refill(transfer);
  return true;
}

Result<void> DeviceReads::read(BulkLink& reader, Transfer* transfer) {
  const auto at = static_cast<types::Count>(transfer->moved);
  const auto bytes = static_cast<types::Count>(transfer->piece());
  Bounce* const got = core_.take_work(transfer, Bounce::Use::get);
  Result<void> begun;
  begin_or_fail(got, [&](Done* done) {
    begun = reader.link->get(*transfer->source_memory, transfer->moved % kWindow,
                             transfer->buffer.part(at, bytes), done);
  });
  if (!begun) {
    core_.forget_copy(transfer);
    core_.give_bounce(got);
  }
  return begun;
}

// Inside a device's progress. The place of a piece that was read is for what comes a window later,
// if anything does.
void DeviceReads::end_read(Transfer* transfer, bool ok) {
  if (!ok) {
    transfer->packed = 0;
    return go_on(transfer);
  }
  transfer->moved += transfer->piece();
  if (transfer->is_in_pieces() && transfer->moved - kPiece + kWindow < transfer->total) {
    ++transfer->in_flight;
    core_.queue_control(core_.peer(transfer->peer), Kind::emptied, transfer->moved,
                        cookie_of(transfer->peer_id, transfer->id));
  }
  go_on(transfer);
}

// Before the end come the answers to all that its sender was asked for.
void DeviceReads::go_on(Transfer* transfer) {
  PeerState& from = core_.peer(transfer->peer);
  const bool ends = transfer->moved == transfer->total || transfer->packed == 0 ||
                    transfer->failure != Code::ok || from.gone;
  if (ends) {
    if (transfer->in_flight == 0 || from.gone) end(from, transfer);
    return;
  }
  if (transfer->moved + transfer->piece() > transfer->packed) return;
  const auto kind = static_cast<MemoryKind>(transfer->key.front());
  if (read(*const_cast<BulkLink*>(Core::reader_of(from, kind)), transfer)) return;
  transfer->packed = 0;
  go_on(transfer);
}

void DeviceReads::end(PeerState& from, Transfer* transfer) {
  transfer->in_flight = 0;
  transfer->packed = 0;
  if (transfer->moved == transfer->total) {
    core_.queue_control(from, Kind::taken, 0, transfer->peer_id);
    return from.gone ? core_.complete(transfer) : core_.end_answered(transfer);
  }
  if (from.gone) return core_.fail_with(transfer, from.failure);
  if (transfer->failure != Code::ok) return core_.give_up(from, transfer);
  transfer->source_memory.reset();
  end_judged(from, transfer, false);
  core_.grant(from, transfer);
}

bool DeviceReads::on_refilled(int from, const transport::FrameHeader& header) {
  Transfer* const transfer =
      core_.find_active(low_of(header.cookie), from, Phase::getting, "refilled");
  if (transfer == nullptr) return true;
  if (!transfer->is_in_pieces() || transfer->in_flight == 0) return false;
  --transfer->in_flight;
  if (header.length == 0)
    transfer->packed = 0;
  else if (transfer->packed > 0)
    transfer->packed = std::min(transfer->total, transfer->packed + kPiece);
  if (transfer->copies == 0) go_on(transfer);
  return true;
}

}  // namespace tutti::p2p
