// Transfer: a request as the endpoint sees it, and KeptMessage: one that nobody asked for yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/fresh.h"
#include "p2p/match.h"
#include "p2p/p2p.h"
#include "p2p/pool.h"
#include "p2p/ways.h"
#include "p2p/wire.h"
#include "transport/transport.h"

namespace tutti::p2p {

// Where a transfer stands.
//
//   send:  waiting -> [pinned] -> complete                        eager
//          waiting -> unconfirmed -> complete                     eager, synchronous
//          waiting -> offered -> sending -> pinned -> complete    rendezvous by frames
//                                ... pinned -> unconfirmed -> complete    by a bulk link
//          waiting -> offered -> complete                         rendezvous by get
//   recv:  waiting -> posted -> [placed] -> complete              eager
//          posted -> matched -> granted or getting -> complete   rendezvous
//                 ... matched -> awaiting -> matched ...         whose data are not there yet
//   all:   ... -> [copying] -> complete                           a device still works for it
enum class Phase : std::uint8_t {
  unused,
  waiting,
  pinned,
  unconfirmed,
  offered,
  sending,
  posted,
  placed,
  matched,
  awaiting,
  granted,
  getting,
  copying,
  complete,
};

// Of a buffer that its caller has just described.
inline void copy_fresh(types::Buffer& to, const types::Buffer& from) {
  static_assert(sizeof from == 6 * sizeof(void*));  // that many fields
  to.data = fresh(from.data);
  to.count = fresh(from.count);
  to.type = fresh(from.type);
  to.skip = fresh(from.skip);
  to.bytes = fresh(from.bytes);
  to.device = fresh(from.device);
}

struct Transfer;

// A part of a message that a device packs or unpacks, in the byte pool; its bytes follow it, or are
// lent by the transport. Or, of no bytes, other work of a device for a message.
struct Bounce final : WatchedDone {
  enum class Use : std::uint8_t { unpack, pack, work, fence, get, ready, piece };
  Transfer* transfer = nullptr;
  Bounce* next = nullptr;
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
  Use use = Use::unpack;
  bool is_ready = false;  // packed
  transport::Loan loan;
  std::byte* memory() { return reinterpret_cast<std::byte*>(this + 1); }
};

// Fires once for each pinned frame, and once for each part that is got (Core::on_pin).
struct TransferPin : Done {
  Transfer* transfer = nullptr;
};

// What every message touches comes first, in three cache lines.
struct alignas(kCacheLine) Transfer final : Pending, MatchNode {
  using Pin = TransferPin;
  Phase phase = Phase::unused;
  Mode mode = Mode::standard;
  bool detached = false;
  GaveUp gave_up = GaveUp::no;  // its sender, which says so in its place
  std::uint8_t by_bulk = 0;     // its data go by this bulk link of the peer's, from 1, and by those
                                // that share with it; 0: by the ordered one
  bool holds = false;           // what drop_held() gives back, which lies further on
  Code failure = Code::ok;  // why it will end badly once its pins, or the peer's answer, are back
  int peer = kAnySource;
  std::uint32_t fingerprint = 0;
  std::uint32_t other_call = 0;  // of a receive that failed: what its message's sender called
  types::Buffer buffer;
  std::uint64_t total = 0;   // bytes that will move
  Transfer* next = nullptr;  // in the peer's waiting line, the completions
  // From here on: of messages that are offered, pinned or staged.
  std::uint32_t in_flight = 0;   // pinned frames not yet fired; 0 when it is complete
  std::uint64_t moved = 0;       // bytes posted, or arrived; counted from the grant on
  std::uint64_t placed = 0;      // on their way into a place; with `moved` never above the total
  bool is_taken = false;         // a send by a bulk link: its receiver has all of it
  bool is_asked_back = false;    // a send: cancel() has asked its receiver for it
  bool is_judged = false;        // what it takes is told to Ways, when it ends
  Ways::Way way = Ways::frames;  // of one that is judged
  Core* core = nullptr;          // fixed
  std::uint32_t id = 0;          // fixed: its number in the pool
  std::uint32_t peer_id = 0;     // the other side's
  Pin pin;
  std::byte* staging = nullptr;   // of a message with gaps: what the link had no room for, packed
  std::size_t staging_bytes = 0;  // taken from the pool for that
  std::size_t staged = 0;         // of these packed; 0: none
  std::unique_ptr<transport::Region> region;         // of a send that the peer may read
  Blob key;                                          // of a receive's sender, until it is answered
  std::unique_ptr<transport::Remote> source_memory;  // what a receive reads from
  // Of messages in a device's memory.
  std::uint32_t copies = 0;   // under way
  std::uint64_t packed = 0;   // a send: bytes packed, or about to be; a receive that reads: bytes
                              // that are there to read, 0: none was asked for
  Bounce* bounces = nullptr;  // of a send: packed parts, in order
  Bounce* last_bounce = nullptr;
  Bounce* reading = nullptr;     // of a receive: what a transport reads into
  std::byte* scratch = nullptr;  // of a send: the device's, packed into for its reader
  bool was_exposed = false;      // of a send: exposing it was tried
  bool waits_exposed = false;    // of a send: its device has not ended what came before it
  bool is_awaited = false;       // of a send: its receiver waits for that, to be told ready
  std::uint64_t came = 0;        // of a receive: its message's bytes, where it was too short for
                                 // them, or while it is_unanswered
  std::uint8_t key_flags = 0;    // of a receive: its offer's flags, which say what `key` is of; its
                                 // eager frame's, while it is_unanswered
  bool is_unanswered = false;    // of a receive: its eager frame is answered when it is unpacked
  bool by_link = false;          // a link moves that memory itself, and its device waits for none

  // Of its data frames: those of a bulk link may overtake each other.
  std::uint8_t data_flags() const { return by_bulk > 0 ? kWantsTaken : std::uint8_t{0}; }
  // A receive that waits for its own device: its sender was asked for nothing yet (start_move).
  bool waits_to_move() const {
    return phase == Phase::getting && packed == 0 && source_memory == nullptr;
  }
  // Of a receive that reads: what it reads is a window (device_pieces.cc).
  bool is_in_pieces() const { return (key_flags & kPacked) != 0 && total > kWindow; }
  // Bytes that it reads next.
  std::uint64_t piece() const {
    return is_in_pieces() ? std::min(total - moved, kPiece) : total - moved;
  }

  // From the pool, before use; what it leaves alone is as recycling left it.
  void begin(Phase first, int rank, const Envelope& envelope, const types::Buffer& memory) {
    done = false;
    number = 0;
    status = Status{};
    on_done = nullptr;
    owner = nullptr;
    context = fresh(envelope.context);
    source = fresh(envelope.source);
    tag = fresh(envelope.tag);
    phase = first;
    mode = Mode::standard;
    detached = false;
    gave_up = envelope.gave_up;
    by_bulk = 0;
    failure = Code::ok;
    peer = rank;
    fingerprint = envelope.fingerprint;
    other_call = 0;
    copy_fresh(buffer, memory);
    total = static_cast<std::uint64_t>(memory.bytes);
  }
};

// Has a device begin what it is to do for a message. What it has no memory to begin has failed.
template <class Begin>
void begin_or_fail(Bounce* work, const Begin& begin) {
  if (work->begins([&] { begin(work); })) return;
  Code& failure = work->transfer->failure;
  if (failure == Code::ok) failure = Code::no_mem;
  work->fire(work, false);
}

// A line of transfers, first in, first out.
class TransferLine {
 public:
  bool is_empty() const { return first_ == nullptr; }
  Transfer* first() const { return first_; }
  void push(Transfer* transfer) {
    transfer->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = transfer;
    last_ = transfer;
  }
  void push_front(Transfer* transfer) {
    transfer->next = first_;
    if (first_ == nullptr) last_ = transfer;
    first_ = transfer;
  }
  // False: it is not in the line.
  bool remove(Transfer* transfer) {
    Transfer* before = nullptr;
    for (Transfer* each = first_; each != transfer; before = each, each = each->next)
      if (each == nullptr) return false;
    (before == nullptr ? first_ : before->next) = transfer->next;
    if (last_ == transfer) last_ = before;
    return true;
  }
  Transfer* pop() {
    Transfer* transfer = first_;
    first_ = transfer->next;
    return transfer;
  }

 private:
  Transfer* first_ = nullptr;
  Transfer* last_ = nullptr;
};

// What a receive must ask for to take the message that this frame opens.
inline MatchKey key_of(const transport::FrameHeader& header) {
  return {header.context, static_cast<int>(header.source), header.tag};
}

// Arrived, not asked for: the header and what came with it, in one block of the byte pool. A short
// one that was offered for want of room may be brought here before a receive takes it (kept.cc).
struct KeptMessage : MatchNode {
  transport::FrameHeader header;
  int from = 0;
  std::uint32_t bytes = 0;
  Transfer* bringing = nullptr;  // its bytes are on their way
  Transfer* taker = nullptr;     // the receive that took it meanwhile
  Code failure = Code::ok;       // why they never came
  bool is_taken = false;         // by a matched probe: in no queue any more
  std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
  std::span<std::byte> content() { return {payload(), bytes}; }
};

}  // namespace tutti::p2p
