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
// Where both ways are open and neither is known to be the faster, the receiver judges (ways.h).
//
// A grant of fewer bytes than offered (a receive that is too short) or of none ends the
// message all the same. A get that fails falls back to a grant.
#include <algorithm>

#include "base/log.h"
#include "p2p/core.h"
#include "p2p/device_reads.h"
#include "p2p/keep_those.h"

namespace tutti::p2p {
namespace {

constexpr std::uint64_t kMostDeviceKept = std::uint64_t{8} << 10;

}  // namespace

bool Core::post_offer(PeerState& peer, Transfer* transfer) {
  const bool is_of_device = transfer->buffer.device != nullptr;
  const bool has_failed = is_of_device && transfer->failure != Code::ok;  // its receiver is told
  transport::FrameHeader header;
  header.context = transfer->context;
  header.tag = transfer->tag;
  header.source = static_cast<std::uint32_t>(transfer->source);
  header.kind = static_cast<std::uint8_t>(Kind::offer);
  header.length = transfer->total;
  header.cookie = cookie_of(transfer->fingerprint, transfer->id);
  if (transfer->total <= peer.eager_for(transfer->buffer) && transfer->mode != Mode::synchronous)
    header.flags = kUntilKept;
  const BlobView key = has_failed ? BlobView{} : key_for(peer, transfer);
  // Read by the peer's device. A short one that nobody asks for yet is kept there, in host memory,
  // but for a collective's, in which the other will ask.
  if (is_of_device && !key.empty()) {
    if (transfer->total > kMostDeviceKept || transfer->fingerprint != 0) header.flags = 0;
    header.flags |= transfer->scratch == nullptr ? kOfDevice : kOfDevice | kPacked;
    if (transfer->waits_exposed) header.flags |= kDataNotYet;
  }
  const std::uint32_t cost = key_cost_of(key.size());
  peer.credit -= cost;
  transfer->phase = Phase::offered;
  transfer->is_asked_back = transfer->is_awaited = false;
  Booked booked([&] {
    peer.credit += cost;
    transfer->phase = Phase::waiting;
  });
  if (!booked.holds(peer.link->try_post({&header, key.data(), key.size(), nullptr}))) return false;
  if (is_of_device && key.empty()) transfer->region.reset();  // nobody was told of it
  ++counted_.offers_sent;
  count_sent(peer, header.length);
  return true;
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
  transfer->peer_id = high_of(header.cookie);
  transfer->moved = 0;
  transfer->key.assign(key.begin(), key.end());
  transfer->key_flags = header.flags & (kOfDevice | kPacked | kDataNotYet);
}

void Core::answer(Transfer* transfer) {
  stock();
  PeerState& from = connected(transfer->peer);
  if (from.gone) return fail_with(transfer, from.failure);
  if (transfer->failure != Code::ok) return give_up(from, transfer);  // its context was cancelled
  const bool is_own = transfer->peer == wireup_.rank() && transfer->total > 0;
  if (is_own && start_own_copy(transfer)) return;
  if ((transfer->key_flags & kDataNotYet) != 0)
    return DeviceReads(*this).await_data(from, transfer);
  if (transfer->total > 0 && !transfer->key.empty() && start_get(from, transfer)) return;
  if (start_move(from, transfer)) return;
  grant(from, transfer);
}

// For who cannot fail any more: what memory is too short for now is left to a later round.
void Core::answer_or_keep(Transfer* transfer) {
  try {
    answer(transfer);
  } catch (const std::bad_alloc&) {
    matched_.push_back(transfer);
    work_ = true;
  }
}

Ways::Way Core::way_for(PeerState& peer, Transfer* transfer) {
  if (transfer->is_judged) return transfer->way;  // asked before, and then found no memory
  if (peer.ways == nullptr) peer.ways = std::make_unique<Ways>();
  transfer->is_judged = true;
  transfer->holds = true;
  return transfer->way = peer.ways->begin(transfer->total, now_ns());
}

bool Core::start_get(PeerState& peer, Transfer* transfer) {
  if (transfer->key_flags != 0) return start_device_get(peer, transfer);
  if (!peer.traits.gets || !transfer->buffer.is_contiguous()) return false;
  if (peer.traits.gets_are_judged && way_for(peer, transfer) == Ways::frames) return false;
  auto imported = peer.link->import(transfer->key);
  if (!imported) return false;
  transfer->source_memory = std::move(*imported);
  transfer->holds = true;
  transfer->phase = Phase::getting;
  try {
    return get_part(peer, transfer);
  } catch (...) {
    transfer->phase = Phase::matched;
    throw;
  }
}

// Asks for the next part; parts are short, so that others have their turn in between. False: it
// cannot be read.
bool Core::get_part(PeerState& peer, Transfer* transfer) {
  const std::size_t bytes = std::min(transfer->total - transfer->moved, transport::kMostReadAtOnce);
  transfer->in_flight = 1;
  Booked booked([&] { transfer->in_flight = 0; });
  const auto started = peer.link->get(*transfer->source_memory, transfer->moved,
                                      types::Buffer::plain(transfer->buffer.at() + transfer->moved,
                                                           static_cast<types::Count>(bytes)),
                                      &transfer->pin);
  return booked.holds(started.has_value());
}

// Receives of which a part has come.
int Core::pump_gets() {
  // Those that get a part at once come behind them.
  const std::size_t count = getting_.size();
  std::size_t seen = 0;
  keep_those(getting_, [&](Transfer* each) {
    if (seen == count) return true;
    go_on_getting(each);
    ++seen;
    return false;
  });
  return static_cast<int>(count);
}

// Nothing of it is being read: it asks for the next part, or ends, or has the rest sent.
void Core::go_on_getting(Transfer* transfer) {
  stock();
  PeerState& from = *peers_[static_cast<std::size_t>(transfer->peer)];
  if (transfer->moved == transfer->total) {
    queue_control(from, Kind::taken, 0, transfer->peer_id);
    return from.gone ? complete(transfer) : end_answered(transfer);
  }
  if (from.gone) return fail_with(transfer, from.failure);
  if (transfer->failure != Code::ok) return give_up(from, transfer);  // its context was cancelled
  if (transfer->source_memory == nullptr || !get_part(from, transfer)) grant(from, transfer);
}

void Core::grant(PeerState& peer, Transfer* transfer) {
  transfer->phase = Phase::granted;
  transfer->moved = 0;
  transfer->placed = 0;
  const std::uint64_t cookie = cookie_of(transfer->peer_id, transfer->id);
  queue_control(peer, Kind::grant, transfer->total, cookie);
  peer.control_last->header.flags = static_cast<std::uint8_t>(transfer->buffer.kind());
  if (transfer->total == 0) complete(transfer);
}

Transfer* Core::find_active(std::uint32_t id, int from, Phase phase, const char* what) {
  Transfer* const transfer = channel_.transfers.find(id);
  if (transfer != nullptr && transfer->phase == phase && transfer->peer == from) return transfer;
  if (peer(from).gone) return nullptr;  // its transfers were ended when it was lost
  log::warn(std::string("dropped a ") + what + " frame from rank " + std::to_string(from) +
            " for message " + std::to_string(id) + ", which does not wait for one");
  return nullptr;
}

bool Core::on_grant(int from, const transport::FrameHeader& header) {
  if (header.flags >= kMemoryKinds) return false;
  Transfer* const transfer = find_active(low_of(header.cookie), from, Phase::offered, "grant");
  if (transfer == nullptr) return true;
  if (transfer->region != nullptr && transfer->buffer.device != nullptr)
    peer(from).note_granted(transfer->total, header.tag);
  transfer->region.reset();  // it will not be read
  if (transfer->scratch != nullptr) transfer->packed = 0;
  transfer->peer_id = high_of(header.cookie);
  if (transfer->failure != Code::ok) {
    if (header.length > 0) queue_cut(peer(from), transfer->peer_id, 0, transfer->failure);
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
  const bool is_one_frame = transfer->packed > 0;  // of the ordered link, for want of credit
  for (std::size_t i = is_one_frame ? 0 : bulk.size(); i-- > 0;)
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
  if (ok) {
    transfer->moved += std::min(transfer->total - transfer->moved, transport::kMostReadAtOnce);
  } else {  // the memory could not be read: let the sender send it
    transfer->failure = cancelled;
    transfer->source_memory.reset();
  }
  if (!ok || transfer->moved == transfer->total || cancelled != Code::ok) try {
      return go_on_getting(transfer);
    } catch (const std::bad_alloc&) {  // later, then
    }
  getting_.push_back(transfer);
  work_ = true;
}

}  // namespace tutti::p2p
