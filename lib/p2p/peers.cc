// Peers: which transport reaches them, their links, and what happens when they are lost.
#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/log.h"
#include "p2p/addresses.h"
#include "p2p/core.h"
#include "p2p/device_reads.h"
#include "p2p/keep_those.h"

namespace tutti::p2p {

// A longer message is cut if it must be packed: a part is packed while another is on its way.
constexpr std::size_t kPackedAtOnce = std::size_t{64} << 10;

Core::Core(wireup::Wireup& wireup, const Knobs& knobs)
    : wireup_(wireup),
      knobs_(knobs),
      other_calls_(wireup, knobs_),
      peers_(static_cast<std::size_t>(wireup.known())),
      flood_(wireup, knobs_) {
  const auto unexpected = static_cast<std::uint64_t>(knobs.integer("TUTTI_UNEXPECTED_BYTES"));
  constexpr std::uint64_t kMostUnits = 0x7fffffff;
  window_ = static_cast<std::uint32_t>(std::min(unexpected / kCreditUnit, kMostUnits));
  return_from_ = std::min(std::max(window_ / 4, 1U), kMostReturned);
  busy_.reserve(2 * peers_.size());  // pump() adds before it removes; not touched before
  const auto added = frames_.add(kOwnKinds, own_frames_);
  TUTTI_CHECK(added.has_value(), added.error().text);
}

Core::~Core() {
  await_copies();
  drop_all_held();
  for (const auto& each : peers_) {
    if (each == nullptr) continue;
    each->bulk.clear();
    each->readers.clear();
    each->owned_link.reset();
    drop_control(*each);
  }
  const auto free_all = [this](MatchQueue& messages) {
    while (!messages.is_empty()) {
      KeptMessage* const message = static_cast<KeptMessage*>(messages.oldest());
      messages.remove(message);
      bytes_.give(message, sizeof(KeptMessage) + message->bytes);
    }
  };
  free_all(channel_.unexpected);
  free_all(channel_.taken);
}

Result<void> Core::start(const Endpoint::Opener& opener) {
  const transport::Surroundings around{&wireup_, this, &knobs_, &devices_};
  opened_ = opener(around);
  if (opened_.transports.empty()) return fail(Code::arg, opened_.left_out.front());
  waiter_ = std::make_unique<transport::Waiter>(around, opened_.transports);
  TUTTI_TRY(addresses, pack_addresses(opened_));
  if (addresses.empty()) return {};
  return wireup_.put(addresses);
}

// This peer's address for one of the transports it is reached by; empty when none is needed.
Result<BlobView> Core::address_of(const PeerState& peer, std::size_t index) {
  const auto& transport = opened_.transports[index];
  if (transport->address().empty()) return BlobView{};
  TUTTI_TRY(all, wireup_.address_of(peer.rank));
  if (const auto found = find_address(all, transport->name())) return *found;
  return fail(Code::other, "rank " + std::to_string(peer.rank) + " has no address for " +
                               transport->name() + "; do all hosts run the same build?");
}

// The table moves, what it points at stays: nobody keeps a place in it.
void Core::grow() {
  make_room(busy_, 2 * static_cast<std::size_t>(wireup_.known()));
  peers_.resize(static_cast<std::size_t>(wireup_.known()));
}

PeerState& Core::make_peer(int rank) {
  auto& slot = peers_[static_cast<std::size_t>(rank)];
  slot = std::make_unique<PeerState>();
  slot->rank = rank;
  slot->credit = window_;
  return *slot;
}

transport::Peer Core::describe(int rank) const {
  constexpr int kInNoSegment = -1;
  if (!wireup_.is_first(rank)) return {rank, wireup_.host_of(rank), kInNoSegment, false};
  const auto& place = wireup_.segment().place(static_cast<std::uint32_t>(rank));
  return {rank, place.host, place.local_rank, place.host == wireup_.host()};
}

Result<void> Core::route(PeerState& peer) {
  TUTTI_TRY(picked, transport::pick(opened_, describe(peer.rank), knobs_));
  peer.transport = picked.ordered.index;
  peer.traits = picked.ordered.traits;
  const auto wanted = static_cast<std::size_t>(knobs_.integer("TUTTI_EAGER_BYTES"));
  peer.eager_bytes = std::min(wanted > 0 ? wanted : peer.traits.eager_bytes, peer.traits.max_frame);
  peer.packed_bytes = wanted > 0 ? peer.eager_bytes : std::min(peer.eager_bytes, kPackedAtOnce);
  if (log::explains())
    log::explain("link to rank " + std::to_string(peer.rank) + ": " +
                 opened_.transports[peer.transport]->name() + " (" + peer.traits.why + ")");
  peer.bulk.clear();  // of an attempt that found no memory
  peer.readers.clear();
  activate(peer.transport);
  for (transport::Picked& each : picked.bulk) {
    activate(each.index);
    peer.bulk.push_back({std::move(each), nullptr});
  }
  for (transport::Picked& each : picked.readers) peer.readers.push_back({std::move(each), nullptr});
  peer.routed = true;
  return {};
}

Result<void> Core::connect(PeerState& peer) {
  TUTTI_TRY(address, address_of(peer, peer.transport));
  TUTTI_TRY(link, opened_.transports[peer.transport]->connect(describe(peer.rank), address));
  peer.owned_link = std::move(link);
  peer.link = peer.owned_link.get();
  update_open(peer);
  return {};
}

Result<void> Core::connect_bulk(const PeerState& peer, BulkLink& bulk) {
  const std::size_t index = bulk.picked.index;
  TUTTI_TRY(address, address_of(peer, index));
  TUTTI_TRY(link, opened_.transports[index]->connect(describe(peer.rank), address));
  bulk.link = std::move(link);
  return {};
}

PeerState& Core::routed(int rank) {
  PeerState& found = peer(rank);
  if (found.routed || found.gone) [[likely]]
    return found;
  if (const auto done = route(found); !done) lose(found, done.error());
  return found;
}

PeerState& Core::connected(int rank) {
  PeerState& found = routed(rank);
  if (found.link != nullptr || found.gone) [[likely]]
    return found;
  if (const auto done = connect(found); !done) lose(found, done.error());
  return found;
}

void Core::update_open(PeerState& peer) {
  const bool is_open =
      peer.link != nullptr && !peer.gone && peer.waiting.is_empty() && !peer.is_recalling;
  peer.open_bytes = is_open ? static_cast<std::int64_t>(peer.eager_bytes) : -1;
}

void Core::activate(std::size_t index) {
  transport::Transport* const transport = opened_.transports[index].get();
  for (const Active& each : active_)
    if (each.transport == transport) return;
  active_.push_back({transport, transport->wait_fd() >= 0});
  // Neighbours in shared memory answer in a fraction of a system call: they come first.
  constexpr std::uint32_t kBesideShared = 4;
  if (std::string_view(transport->name()) == "shm") costly_every_ = kBesideShared;
}

void Core::activate_all() {
  if (active_.size() == opened_.transports.size()) return;
  for (std::size_t i = 0; i < opened_.transports.size(); ++i) activate(i);
}

void Core::on_peer_gone(int rank, const Error& why) {
  losses_.push_back({rank, nullptr, why});
  work_ = true;
}

void Core::on_peer_ended(int rank, const char* link, const Error& why) {
  losses_.push_back({rank, link, why});
  work_ = true;
}

// Whether the peer is lost when this link (null: whichever it has) is: its other links may fail and
// it lives on, as long as its ordered link stands.
bool Core::is_lost_by(const char* link, int rank) {
  if (link == nullptr) return true;
  const PeerState& peer = routed(rank);
  return !peer.gone && std::string_view(opened_.transports[peer.transport]->name()) == link;
}

// One link has lost the peer: none of its others may still write into memory of a receive.
void Core::drop_links(PeerState& peer) {
  if (peer.bulk.empty()) return;
  opened_.transports[peer.transport]->drop(peer.rank);
  for (const BulkLink& each : peer.bulk) opened_.transports[each.picked.index]->drop(peer.rank);
}

// Ends everything that needs this peer. What it sent in full can still be received.
void Core::lose(PeerState& peer, const Error& why) {
  if (peer.gone) return;
  stock();
  const Code failure = why.code == Code::ok ? Code::proc_aborted : why.code;
  loss_ = {failure, why.text};
  peer.gone = true;
  peer.failure = failure;
  if (!peer.left) tell({Happening::What::peer_lost, peer.rank, 0, 0});
  peer.placed = nullptr;
  update_open(peer);
  drop_links(peer);
  drop_control(peer);
  while (!peer.waiting.is_empty()) fail_with(peer.waiting.pop(), peer.failure);
  bool has_any_source = false;
  for (std::uint32_t id = 0; id < channel_.transfers.count(); ++id) {
    Transfer* const each = channel_.transfers.find(id);
    if (each->peer == peer.rank) lose_transfer(each, peer.failure);
    has_any_source |= each->phase == Phase::posted && each->source == kAnySource;
  }
  frames_.each([&peer](FrameHandler& each) { each.on_peer_lost(peer.rank, peer.failure); });
  if (!peer.left && wireup_.is_first(peer.rank) && !std::exchange(loss_hook_.has_lost, true))
    wireup_.lost_peer();
  when_lost(loss_hook_.then, loss_hook_.owner);
  if (has_any_source && !peer.left && !warned_any_source_) {
    warned_any_source_ = true;
    log::warn("rank " + std::to_string(peer.rank) +
              " is gone; receives from any source go on waiting for the others");
  }
}

void Core::when_lost(void (*then)(Pending* self), void* owner) {
  loss_hook_.then = then;
  loss_hook_.owner = owner;
  if (!loss_hook_.has_lost || then == nullptr) return;
  later(std::exchange(loss_hook_.then, nullptr), loss_hook_.owner);
}

void Core::lose_transfer(Transfer* transfer, Code code) {
  switch (transfer->phase) {
    case Phase::unused:
    case Phase::complete:
    case Phase::waiting:  // being posted by the caller
    case Phase::matched:  // answer() will see it
    case Phase::copying:  // its copies end it
      return;
    case Phase::posted:
      channel_.posted.remove(transfer);
      return fail_with(transfer, code);
    case Phase::unconfirmed:
    case Phase::offered:
    case Phase::placed:
    case Phase::awaiting:
    case Phase::granted:
      return fail_with(transfer, code);
    case Phase::sending:  // pump() ends it
    case Phase::pinned:   // ends when the transport gives the memory back
    case Phase::getting:  // pump() ends it, or the last of its pieces
      transfer->failure = code;
      work_ = true;
      if (transfer->phase == Phase::getting && transfer->is_in_pieces() && transfer->copies == 0)
        DeviceReads(*this).go_on(transfer);
      return;
  }
}

}  // namespace tutti::p2p
