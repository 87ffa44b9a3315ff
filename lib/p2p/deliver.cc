// What arrives: each frame to its transfer, messages to the receives they match.
#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/differing_calls.h"
#include "base/log.h"
#include "base/text.h"
#include "p2p/core.h"

namespace tutti::p2p {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<types::Count>::max();

}  // namespace

bool Core::on_frame(int from, const transport::FrameHeader& header, std::span<std::byte> payload) {
  PeerState& sender = peer(from);
  sender.credit += header.aux;
  // The kinds that carry messages are tried first, for speed; the others are looked up.
  const auto kind = static_cast<Kind>(header.kind);
  if (kind == Kind::eager || kind == Kind::offer) [[likely]]
    return on_message(from, header, payload);
  if (kind == Kind::data) return on_data(from, header, payload);
  FrameHandler* const handler = frames_.find(header.kind);
  return handler != nullptr && handler->on_frame(from, header, payload);
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
  if (sender.placed != nullptr) [[unlikely]] {  // matched when place() was asked
    Transfer* const transfer = sender.placed;
    if (payload.data() != transfer->buffer.at()) return false;  // it was asked for another one
    sender.placed = nullptr;
    finish_delivery(sender, transfer, header, payload.size());
    return true;
  }
  Transfer* const transfer = static_cast<Transfer*>(channel_.posted.take(key_of(header)));
  if (transfer == nullptr) {
    keep(from, header, payload);
  } else if (header.kind == static_cast<std::uint8_t>(Kind::eager)) [[likely]] {
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
    meet_other_call(*transfer, theirs, gave_up);
}

void Core::deliver_eager(Transfer* transfer, int from, const transport::FrameHeader& header,
                         std::span<const std::byte> payload) {
  meet(transfer, from, header);
  const auto bytes = static_cast<std::size_t>(transfer->status.bytes);
  if (transfer->buffer.is_contiguous()) [[likely]] {
    if (bytes > 0) std::memcpy(transfer->buffer.at(), payload.data(), bytes);
  } else if (transfer->buffer.device != nullptr) {
    unpack_later(transfer, 0, payload.first(bytes));
  } else {
    types::unpack(transfer->buffer, 0, payload.first(bytes));
  }
  finish_delivery(*peers_[static_cast<std::size_t>(from)], transfer, header, payload.size());
}

void Core::finish_delivery(PeerState& peer, Transfer* transfer,
                           const transport::FrameHeader& header, std::size_t bytes) {
  if ((header.flags & kOwesNothing) == 0) [[likely]]
    consumed(peer, bytes);
  if ((header.flags & kWantsTaken) != 0) [[unlikely]]
    queue_control(peer, Kind::taken, 0, high_of(header.cookie));
  complete(transfer);
}

// No receive matches yet: kept in the order of arrival.
void Core::keep(int from, const transport::FrameHeader& header,
                std::span<const std::byte> payload) {
  const auto source = static_cast<int>(header.source);
  if (const Code code = channel_.cancelled.why(header.context, source); code != Code::ok)
      [[unlikely]] {
    if (is_meeting(header.context)) cancel_stream(from, payload, code);
    return refuse(from, header, payload.size(), code);
  }
  const bool is_brought = may_bring(header);
  const std::size_t bytes = is_brought ? header.length : payload.size();
  KeptMessage* const message = new (bytes_.take(sizeof(KeptMessage) + bytes)) KeptMessage;
  message->context = header.context;
  message->source = static_cast<int>(header.source);
  message->tag = header.tag;
  message->header = header;
  message->from = from;
  message->bytes = static_cast<std::uint32_t>(bytes);
  if (is_brought)
    bring(*message, payload);
  else if (!payload.empty())
    std::memcpy(message->payload(), payload.data(), payload.size());
  channel_.unexpected.add(message);
  repay(*message);
  count_kept(*message);
  ++counted_.unexpected;
  counted_.unexpected_most = std::max(counted_.unexpected_most, flood_.messages);
  tell({Happening::What::unexpected, from, header.tag, static_cast<std::int64_t>(header.length)});
}

// A message of another collective than the receive's; or word of a failure, which comes in the
// place of messages that are no collective's, too.
void Core::meet_other_call(Transfer& transfer, std::uint32_t theirs, GaveUp gave_up) {
  const bool is_failure = gave_up != GaveUp::no;
  if (transfer.fingerprint == 0) {
    if (is_failure) transfer.status.code = Code::other;
    return;
  }
  const std::string& wish = knobs_.text("TUTTI_MISMATCH");
  if (!is_failure && wish == "off") return;
  if (!is_failure && wish == "warn" && std::exchange(warned_of_mismatch_, true)) return;
  transfer.other_call = theirs;
  transfer.gave_up = gave_up;
  if (!is_failure && wish == "warn")
    return log::warn(describe_mismatch(transfer) + " (TUTTI_MISMATCH=warn: the job goes on)");
  transfer.status.bytes = 0;
  transfer.status.code = gave_up == GaveUp::lost_peer ? Code::proc_aborted : Code::other;
}

std::string Core::describe_call(std::uint32_t fingerprint) const {
  return describe_ ? describe_(fingerprint) : "call " + std::to_string(fingerprint);
}

std::string Core::number_of_call(const Transfer& transfer) {
  return " (call number " + std::to_string(transfer.tag & 0x3fffffff) + " of this communicator)";
}

std::string Core::describe_mismatch(const Transfer& transfer) const {
  const std::uint32_t ours = transfer.fingerprint, theirs = transfer.other_call;
  const std::string here = describe_call(ours), there = describe_call(theirs);
  std::string text = differ_in(here, there) + "rank " + std::to_string(wireup_.rank()) + " calls " +
                     here + ", rank " + std::to_string(transfer.peer) + " calls " + there +
                     number_of_call(transfer);
  if (here == there)
    text += "; their codes differ: " + std::to_string(ours) + " and " + std::to_string(theirs);
  return text;
}

std::string describe_failure(const Status& status) {
  if (status.code != Code::truncate || status.source < 0) return {};
  return "the message of rank " + std::to_string(status.source) + ", tag " +
         std::to_string(status.tag) + ", is longer than the receive buffer of " +
         text::format_bytes(static_cast<std::uint64_t>(status.bytes));
}

// The sender did not come to this message of its call, and knows why. That its call is another one
// than ours, it may not know.
MessageFailure Core::sender_failure(const Transfer& transfer) const {
  const bool has_met = transfer.gave_up == GaveUp::differs;
  const std::string rank = "rank " + std::to_string(transfer.peer);
  const std::string& wish = knobs_.text("TUTTI_MISMATCH");
  const bool may_differ = wish == "off" || wish == "warn";
  if (transfer.other_call != transfer.fingerprint && !may_differ)
    return {describe_mismatch(transfer) + ", which it gave up", true, has_met};
  const std::string call = describe_call(transfer.other_call) + number_of_call(transfer);
  return {has_met ? "ranks call different collectives, or give one different arguments: " + rank +
                        " has found that, and gave up " + call
                  : rank + " gave up " + call,
          has_met, true};
}

// Of messages outside collectives the status says who sent what.
MessageFailure Core::failure_of(const Pending& request) const {
  const auto& transfer = static_cast<const Transfer&>(request);
  if (transfer.fingerprint == 0) return {};
  if (transfer.status.code == Code::other && transfer.other_call != 0)
    return transfer.gave_up != GaveUp::no
               ? sender_failure(transfer)
               : MessageFailure{describe_mismatch(transfer), true, false};
  if (transfer.status.code != Code::truncate) return {};
  return {"rank " + std::to_string(transfer.peer) + " gives " + std::to_string(transfer.came) +
              " bytes to rank " + std::to_string(wireup_.rank()) + ", which has room for " +
              std::to_string(transfer.buffer.bytes),
          true, false};
}

void Core::set_fingerprint_text(std::function<std::string(std::uint32_t)> describe) {
  describe_ = std::move(describe);
}

}  // namespace tutti::p2p
