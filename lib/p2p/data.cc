// The data frames of a rendezvous: posted by the ordered link or a bulk link, and put in place.
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "p2p/core.h"
#include "p2p/keep_those.h"

namespace tutti::p2p {
namespace {

constexpr std::uint32_t kMostInFlight = 16;                 // pinned frames of one message
constexpr int kBurst = 32;                                  // frames posted before receiving again
constexpr std::size_t kMostStaged = std::size_t{64} << 10;  // packed at a time

}  // namespace

// Whether a part with this offset and length is expected. On the ordered link parts come in order;
// on a bulk link in any. None lies outside, and with those on their way they are never more than
// all.
bool Core::is_part(const Transfer& transfer, const transport::FrameHeader& header,
                   std::size_t bytes) {
  const bool may_overtake = (header.flags & kWantsTaken) != 0;
  const std::uint64_t at = header.length, known = transfer.moved + transfer.placed;
  return (may_overtake || at == transfer.moved) && at <= transfer.total &&
         bytes <= transfer.total - at && known <= transfer.total && bytes <= transfer.total - known;
}

// Ends the receive once everything its sender will send has arrived.
void Core::end_received(int from, const transport::FrameHeader& header, Transfer* transfer) {
  if (transfer->moved < transfer->total || transfer->placed > 0) return;
  if ((header.flags & kWantsTaken) != 0)
    queue_control(peer(from), Kind::taken, 0, transfer->peer_id);
  end_answered(transfer);
}

bool Core::on_data(int from, const transport::FrameHeader& header, std::span<std::byte> payload) {
  Transfer* const transfer = find_active(low_of(header.cookie), from, Phase::granted, "data");
  if (transfer == nullptr) return true;
  // Outside, it is no part, and no address.
  const bool is_one_run = transfer->by_link || transfer->buffer.is_contiguous();
  const bool lies_flat = is_one_run && header.length <= transfer->total;
  std::byte* const into = lies_flat ? transfer->buffer.at() + header.length : nullptr;
  // place() has chosen this transfer already.
  const bool is_in_place = (lies_flat && into == payload.data()) || is_reading(*transfer, payload);
  const bool was_placed = is_in_place && payload.size() <= transfer->placed;
  if (!was_placed && !is_part(*transfer, header, payload.size())) return false;
  if (was_placed) transfer->placed -= payload.size();
  const bool was_moved = was_placed && transfer->by_link && into == payload.data();
  if (transfer->buffer.device != nullptr && !was_moved)
    unpack_later(transfer, header.length, payload);
  else if (!lies_flat)
    types::unpack(transfer->buffer, static_cast<types::Count>(header.length), payload);
  else if (!was_placed && into != payload.data())
    std::memcpy(into, payload.data(), payload.size());
  transfer->moved += payload.size();
  end_received(from, header, transfer);
  return true;
}

// The bulk link that is next to carry a part of it: the one it goes by, or where that is a rail,
// each of them in turn, without those that were found full in this round. Null: none can be
// connected.
BulkLink* Core::bulk_path(PeerState& to, const Transfer& transfer) {
  const std::size_t first = transfer.by_bulk - 1U;
  std::size_t count = 1;
  while (to.bulk[first].picked.traits.is_rail && first + count < to.bulk.size() &&
         to.bulk[first + count].picked.traits.is_rail)
    ++count;
  BulkLink* full = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    BulkLink& bulk = to.bulk[first + (to.turns + i) % count];
    if (bulk.picked.traits.bulk_from == transport::kNever) continue;
    if (bulk.link == nullptr)
      if (const auto made = connect_bulk(to, bulk); !made) {
        log::warn(made.error().text + "; data go by the other link");
        bulk.picked.traits.bulk_from = transport::kNever;
        continue;
      }
    if (bulk.full_in_round != rounds_) return &bulk;
    full = &bulk;
  }
  return full;
}

// By what its next part goes; nothing where there is none, for which no rail is made, or where all
// of that was found full in this round.
std::optional<Core::Path> Core::data_path(PeerState& to, const Transfer& transfer) {
  if (transfer.moved == transfer.total) return std::nullopt;
  Path path{to.link, to.traits.max_frame, &to.full_in_round};
  if (transfer.by_bulk > 0)
    if (BulkLink* const bulk = bulk_path(to, transfer))
      path = {bulk->link.get(), bulk->picked.traits.max_frame, &bulk->full_in_round};
  return *path.full_in_round == rounds_ ? std::nullopt : std::optional(path);
}

// Posts what the link takes. Returns how many frames went.
int Core::pump_data(Transfer* transfer) {
  PeerState& to = *peers_[static_cast<std::size_t>(transfer->peer)];
  if (transfer->failure != Code::ok) return 0;
  std::optional<Path> path = data_path(to, *transfer);
  if (!path) return 0;
  const bool is_moved =
      transfer->by_link && (path->link->kinds() & kinds_of(transfer->buffer.kind())) != 0;
  if (transfer->buffer.device != nullptr && !is_moved) return pump_bounces(to, *path, transfer);
  if (is_moved && transfer->waits_exposed) return 0;
  const bool lies_flat = is_moved || transfer->buffer.is_contiguous();
  const std::size_t most = lies_flat ? path->max_frame : std::min(path->max_frame, kMostStaged);
  transport::FrameHeader header;
  header.kind = static_cast<std::uint8_t>(Kind::data);
  header.flags = transfer->data_flags();
  header.cookie = transfer->peer_id;
  int posted = 0;
  while (path && transfer->moved < transfer->total && transfer->in_flight < kMostInFlight &&
         posted < kBurst && transfer->failure == Code::ok) {
    const std::size_t bytes = std::min<std::uint64_t>(most, transfer->total - transfer->moved);
    header.length = transfer->moved;
    const std::byte* const data = lies_flat ? transfer->buffer.at() + transfer->moved
                                            : stage(transfer, transfer->moved, bytes).data();
    if (lies_flat) ++transfer->in_flight;
    Booked booked([&] {
      if (lies_flat) --transfer->in_flight;
    });
    const types::Device* const device = transfer->buffer.device;
    const transport::FrameView frame{&header,
                                     data,
                                     bytes,
                                     lies_flat ? &transfer->pin : nullptr,
                                     transfer->buffer.kind(),
                                     device == nullptr ? 0 : device->number(),
                                     transfer->total > path->max_frame};
    if (booked.holds(path->link->try_post(frame))) {
      transfer->staged = 0;
      transfer->moved += bytes;
      ++posted;
    } else {
      *path->full_in_round = rounds_;
    }
    ++to.turns;
    path = data_path(to, *transfer);
  }
  return posted;
}

// Everything that will be sent has been posted, and no link reads the buffer any more.
void Core::end_sent(Transfer* transfer) {
  if (transfer->by_bulk > 0 && !transfer->is_taken && !peer(transfer->peer).gone)
    transfer->phase = Phase::unconfirmed;
  else
    fail_with(transfer, transfer->failure);
}

}  // namespace tutti::p2p
