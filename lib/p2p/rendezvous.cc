// Rendezvous: long messages ask first, then go straight from buffer to buffer.
//
//   sender                        receiver
//   offer  ------------------->   matched with a receive; then either
//          <------------- grant   "send me so many bytes"
//   data, data, data --------->   complete when all are there
//   or, where the link can read the peer's memory:
//                                 get, get, get: complete
//          <------------- taken   complete
//
// Data go by the ordered link or, by transport::carries, by a bulk link: the sender chooses when it
// knows both memories. What goes by a bulk link may overtake, so its parts are counted, not awaited
// in order, and the receiver confirms the whole with taken: only then may the sender end and its
// process leave.
//
// A grant of fewer bytes than offered (a receive that is too short) or of none ends the
// message all the same. A get that fails falls back to a grant.
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "p2p/core.h"

namespace tutti::p2p {
namespace {

constexpr std::uint32_t kMostInFlight = 16;                 // pinned frames of one message
constexpr int kBurst = 32;                                  // frames posted before receiving again
constexpr std::uint64_t kMostGot = std::uint64_t{1} << 20;  // read from a peer's memory at a time
constexpr std::uint64_t kMostDeviceKept = std::uint64_t{8} << 10;
constexpr std::size_t kMostStaged = std::size_t{64} << 10;  // packed at a time

}  // namespace

bool Core::post_offer(PeerState& peer, Transfer* transfer) {
  const bool is_of_device = transfer->buffer.device != nullptr;
  if (is_of_device && transfer->failure != Code::ok) {
    fail_with(transfer, transfer->failure);
    return true;
  }
  transport::FrameHeader header;
  header.context = transfer->context;
  header.tag = transfer->tag;
  header.source = static_cast<std::uint32_t>(transfer->source);
  header.kind = static_cast<std::uint8_t>(Kind::offer);
  header.length = transfer->total;
  header.cookie = cookie_of(transfer->fingerprint, transfer->id);
  if (transfer->total <= peer.eager_bytes && transfer->mode != Mode::synchronous)
    header.flags = kUntilKept;
  const BlobView key = key_for(peer, transfer);
  // Read by the peer's device. A short one that nobody asks for yet is kept there, in host memory.
  if (is_of_device && !key.empty()) {
    if (transfer->total > kMostDeviceKept) header.flags = 0;
    header.flags |= kOfDevice;
  }
  const std::uint32_t cost = key_cost_of(key.size());
  peer.credit -= cost;
  transfer->phase = Phase::offered;
  if (peer.link->try_post({&header, key.data(), key.size(), nullptr})) {
    ++counted_.offers_sent;
    count_sent(peer, header.length);
    return true;
  }
  peer.credit += cost;
  transfer->phase = Phase::waiting;
  return false;
}

// The key to the memory of this send, where its peer may read that and it pays; else empty.
BlobView Core::key_for(PeerState& peer, Transfer* transfer) {
  if (transfer->region == nullptr) {
    if (!peer.traits.gets || transfer->total == 0 || transfer->total < peer.traits.get_from ||
        !transfer->buffer.is_contiguous())
      return {};
    auto region =
        opened_.transports[peer.transport]->expose({transfer->buffer.at(), transfer->total});
    if (!region) return {};
    transfer->region = std::move(*region);
    transfer->holds = true;
  }
  const BlobView key = transfer->region->key();
  const bool fits = key.size() <= std::min(kMostKeyBytes, peer.traits.max_frame) &&
                    key_cost_of(key.size()) <= peer.credit;
  return fits ? key : BlobView{};
}

// The offer that came with it takes no room here any more.
void Core::pay_back_key(int from, std::size_t bytes) {
  if (key_cost_of(bytes) > 0) consumed(peer(from), bytes);
}

// A receive has met an offer; answer() does the rest where posting is allowed.
void Core::match_offer(Transfer* transfer, int from, const transport::FrameHeader& header,
                       std::span<const std::byte> key) {
  meet(transfer, from, header);
  transfer->total = static_cast<std::uint64_t>(transfer->status.bytes);
  note_offer(transfer, header, key);
  pay_back_key(from, key.size());
}

// From here on `transfer` can be answered.
void Core::note_offer(Transfer* transfer, const transport::FrameHeader& header,
                      std::span<const std::byte> key) {
  transfer->phase = Phase::matched;
  transfer->remote = high_of(header.cookie);
  transfer->moved = 0;
  transfer->key.assign(key.begin(), key.end());
  transfer->has_device_key = (header.flags & kOfDevice) != 0;
}

void Core::answer(Transfer* transfer) {
  PeerState& from = connected(transfer->peer);
  if (from.gone) return fail_with(transfer, from.failure);
  if (transfer->failure != Code::ok) {  // its context was cancelled
    queue_cut(from, transfer->remote, 0, transfer->failure);
    return fail_with(transfer, transfer->failure);
  }
  const bool is_own = transfer->peer == wireup_.rank() && transfer->total > 0;
  if (is_own && start_own_copy(transfer)) return;
  if (transfer->total > 0 && !transfer->key.empty() && start_get(from, transfer)) return;
  grant(from, transfer);
}

bool Core::start_get(PeerState& peer, Transfer* transfer) {
  if (transfer->has_device_key) return start_device_get(peer, transfer);
  if (!peer.traits.gets || !transfer->buffer.is_contiguous()) return false;
  auto imported = peer.link->import(transfer->key);
  if (!imported) return false;
  transfer->source_memory = std::move(*imported);
  transfer->holds = true;
  transfer->phase = Phase::getting;
  return get_part(peer, transfer);
}

// Asks for the next part; parts are short, so that others have their turn in between. False: it
// cannot be read.
bool Core::get_part(PeerState& peer, Transfer* transfer) {
  const std::size_t bytes = std::min(transfer->total - transfer->moved, kMostGot);
  transfer->in_flight = 1;
  const auto started = peer.link->get(*transfer->source_memory, transfer->moved,
                                      types::Buffer::plain(transfer->buffer.at() + transfer->moved,
                                                           static_cast<types::Count>(bytes)),
                                      &transfer->pin);
  if (started) return true;
  transfer->in_flight = 0;
  return false;
}

// Receives of which a part has come and another is to be asked for.
int Core::pump_gets() {
  const std::size_t count = getting_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Transfer* const each = getting_[i];
    PeerState& from = *peers_[static_cast<std::size_t>(each->peer)];
    if (from.gone)
      fail_with(each, from.failure);
    else if (each->failure != Code::ok)
      give_up_getting(from, each);
    else if (!get_part(from, each))
      grant(from, each);
  }
  // Behind them are those that have got a part at once.
  getting_.erase(getting_.begin(), getting_.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<int>(count);
}

// Its context was cancelled.
void Core::give_up_getting(PeerState& peer, Transfer* transfer) {
  queue_cut(peer, transfer->remote, 0, transfer->failure);
  fail_with(transfer, transfer->failure);
}

void Core::grant(PeerState& peer, Transfer* transfer) {
  transfer->phase = Phase::granted;
  transfer->moved = 0;
  transfer->placed = 0;
  const std::uint64_t cookie = cookie_of(transfer->remote, transfer->id);
  queue_control(peer, Kind::grant, transfer->total, cookie);
  peer.control_last->header.flags = static_cast<std::uint8_t>(transfer->buffer.kind());
  if (transfer->total == 0) complete(transfer);
}

bool Core::on_grant(int from, const transport::FrameHeader& header) {
  if (header.flags >= kMemoryKinds) return false;
  Transfer* const transfer = find_active(low_of(header.cookie), from, Phase::offered, "grant");
  if (transfer == nullptr) return true;
  if (transfer->region != nullptr) ++peer(from).unread;
  transfer->region.reset();  // it will not be read
  transfer->remote = high_of(header.cookie);
  if (transfer->failure != Code::ok) {
    if (header.length > 0) queue_cut(peer(from), transfer->remote, 0, transfer->failure);
    fail_with(transfer, transfer->failure);
    return true;
  }
  transfer->total = std::min(transfer->total, header.length);
  if (transfer->total == 0) {
    complete(transfer);
    return true;
  }
  const auto into = static_cast<MemoryKind>(header.flags);
  const std::vector<BulkLink>& bulk = peer(from).bulk;
  // A device's memory goes through bounce buffers, in order (copies.cc): by the ordered link.
  const bool is_of_host = transfer->buffer.kind() == MemoryKind::host && into == MemoryKind::host;
  for (std::size_t i = is_of_host ? bulk.size() : 0; i-- > 0;)
    if (transport::carries(bulk[i].picked.traits, transfer->total, transfer->buffer.kind(), into))
      transfer->by_bulk = static_cast<std::uint8_t>(i + 1);
  transfer->is_taken = false;
  transfer->moved = 0;
  transfer->phase = Phase::sending;
  sending_.push_back(transfer);
  work_ = true;
  return true;
}

void Core::on_taken(int from, const transport::FrameHeader& header) {
  Transfer* const transfer = channel_.transfers.find(low_of(header.cookie));
  if (transfer != nullptr && transfer->peer == from && transfer->by_bulk > 0 &&
      (transfer->phase == Phase::sending || transfer->phase == Phase::pinned)) {
    transfer->is_taken = true;  // before the link gave all its memory back
    return;
  }
  const bool is_offered = transfer != nullptr && transfer->phase == Phase::offered;
  if (find_active(low_of(header.cookie), from, is_offered ? Phase::offered : Phase::unconfirmed,
                  "taken") != nullptr) {
    if (transfer->region != nullptr) peer(from).unread = 0;
    end_answered(transfer);
  }
}

// Where all that will come of it is here, the receive ends.
void Core::end_received(int from, const transport::FrameHeader& header, Transfer* transfer) {
  if (transfer->moved < transfer->total || transfer->placed > 0) return;
  if ((header.flags & kWantsTaken) != 0)
    queue_control(peer(from), Kind::taken, 0, transfer->remote);
  end_answered(transfer);
}

bool Core::on_data(int from, const transport::FrameHeader& header, std::span<std::byte> payload) {
  Transfer* const transfer = find_active(low_of(header.cookie), from, Phase::granted, "data");
  if (transfer == nullptr) return true;
  // Outside, it is no part, and no address.
  const bool lies_flat = transfer->buffer.is_contiguous() && header.length <= transfer->total;
  std::byte* const into = lies_flat ? transfer->buffer.at() + header.length : nullptr;
  // What place() was asked for was found right then.
  const bool is_in_place = (lies_flat && into == payload.data()) || is_reading(*transfer, payload);
  const bool was_placed = is_in_place && payload.size() <= transfer->placed;
  if (!was_placed && !is_part(*transfer, header, payload.size())) return false;
  if (was_placed) transfer->placed -= payload.size();
  if (transfer->buffer.device != nullptr)
    unpack_later(transfer, header.length, payload);
  else if (!lies_flat)
    types::unpack(transfer->buffer, static_cast<types::Count>(header.length), payload);
  else if (!was_placed && into != payload.data())
    std::memcpy(into, payload.data(), payload.size());
  transfer->moved += payload.size();
  end_received(from, header, transfer);
  return true;
}

// The link that its data go by, and what was learnt of that in this round.
Core::Path Core::data_path(PeerState& to, Transfer* transfer) {
  if (transfer->by_bulk > 0) {
    BulkLink& bulk = to.bulk[transfer->by_bulk - 1U];
    const Result<void> made = bulk.link != nullptr ? Result<void>{} : connect_bulk(to, bulk);
    if (made) return {*bulk.link, bulk.picked.traits.max_frame, bulk.full_in_round, kWantsTaken};
    log::warn(made.error().text + "; data go by the other link");
    bulk.picked.traits.bulk_from = transport::kNever;
    transfer->by_bulk = 0;
  }
  return {*to.link, to.traits.max_frame, to.full_in_round, 0};
}

// Posts what the link takes. Returns how many frames went.
int Core::pump_data(Transfer* transfer) {
  PeerState& to = *peers_[static_cast<std::size_t>(transfer->peer)];
  if (transfer->failure != Code::ok) return 0;
  if (transfer->buffer.device != nullptr)
    return to.full_in_round == rounds_ ? 0 : pump_bounces(to, transfer);
  const Path path = data_path(to, transfer);
  if (path.full_in_round == rounds_) return 0;
  const bool lies_flat = transfer->buffer.is_contiguous();
  const std::size_t most = lies_flat ? path.max_frame : std::min(path.max_frame, kMostStaged);
  transport::FrameHeader header;
  header.kind = static_cast<std::uint8_t>(Kind::data);
  header.flags = path.flags;
  header.cookie = transfer->remote;
  int posted = 0;
  while (transfer->moved < transfer->total && transfer->in_flight < kMostInFlight &&
         posted < kBurst && transfer->failure == Code::ok) {
    const std::size_t bytes = std::min<std::uint64_t>(most, transfer->total - transfer->moved);
    header.length = transfer->moved;
    const std::byte* const data = lies_flat ? transfer->buffer.at() + transfer->moved
                                            : stage(transfer, transfer->moved, bytes).data();
    if (lies_flat) ++transfer->in_flight;
    if (!path.link.try_post({&header, data, bytes, lies_flat ? &transfer->pin : nullptr})) {
      if (lies_flat) --transfer->in_flight;
      path.full_in_round = rounds_;
      break;
    }
    transfer->staged = 0;
    transfer->moved += bytes;
    ++posted;
  }
  return posted;
}

// All is posted, or no more will be, and nothing is pinned any more.
void Core::end_sent(Transfer* transfer) {
  if (transfer->by_bulk > 0 && !transfer->is_taken && !peer(transfer->peer).gone)
    transfer->phase = Phase::unconfirmed;
  else
    fail_with(transfer, transfer->failure);
}

void Core::on_pin(Done* self, bool ok) {
  Transfer* const transfer = static_cast<Transfer::Pin*>(self)->transfer;
  transfer->core->unpinned(transfer, ok);
}

// A pinned frame is out of our memory, or a part has been got.
void Core::unpinned(Transfer* transfer, bool ok) {
  --transfer->in_flight;
  const Code cancelled = transfer->failure;  // of a fetch, whose peer is there
  if (!ok && transfer->failure == Code::ok) transfer->failure = Code::proc_aborted;
  if (transfer->in_flight > 0) return;
  if (transfer->phase == Phase::pinned) return end_sent(transfer);
  if (transfer->phase != Phase::getting) return;
  PeerState& from = *peers_[static_cast<std::size_t>(transfer->peer)];
  if (ok) transfer->moved += std::min(transfer->total - transfer->moved, kMostGot);
  if (transfer->moved == transfer->total) {
    queue_control(from, Kind::taken, 0, transfer->remote);
    return from.gone ? complete(transfer) : end_answered(transfer);
  }
  if (cancelled != Code::ok && !from.gone) return give_up_getting(from, transfer);
  if (ok) {  // or its peer was lost meanwhile: pump_gets() sees
    getting_.push_back(transfer);
    work_ = true;
    return;
  }
  if (from.gone) return fail_with(transfer, from.failure);
  // The memory could not be read: let the sender send it.
  transfer->failure = Code::ok;
  transfer->source_memory.reset();
  grant(from, transfer);
}

}  // namespace tutti::p2p
