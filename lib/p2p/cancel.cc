// A context is cancelled: everything in it ends with one code, and nothing of it is kept any more.
//
// A transfer that the other side may still send a frame for (an answer to an offer, data) ends when
// the last such frame has arrived: a late frame then never meets another message with the same
// number. So that this comes, each side tells the other of a message it has given up: a cut.
//
//   send: waiting              ends at once
//         offered, unconfirmed is recalled; ends by recalled, taken, cut, or a grant, which is cut
//         sending              posts no more, and says how much it posted: cut
//   recv: posted               ends at once
//         matched              cuts the sender's offer instead of answering it
//         awaiting             likewise; ends when the sender has said ready
//         granted              ends when all has come that was sent
//         getting              ends with the part under way; the sender's offer is cut at once
//                              where nothing was asked for yet
//
// Transfers whose peer is lost end as always. The context's number is not used again (comm):
// messages in it may still be on their way.
#include <algorithm>

#include "base/check.h"
#include "p2p/core.h"
#include "p2p/device_reads.h"

namespace tutti::p2p {

void Core::cancel(std::uint32_t context, Code code) {
  TUTTI_CHECK(code != Code::ok, "a context is cancelled without an error");
  // A word for each message that ends here. Half of it is not done.
  std::size_t words = 0;
  for (std::uint32_t id = 0; id < channel_.transfers.count(); ++id) {
    const Transfer* const each = channel_.transfers.find(id);
    const bool has_ended = each->phase == Phase::unused || each->phase == Phase::complete;
    words += each->context == context && !has_ended ? 1 : 0;
  }
  for (const MatchNode* node : {channel_.unexpected.oldest(), channel_.taken.oldest()})
    for (; node != nullptr; node = node->newer) words += node->context == context ? 1 : 0;
  bytes_.stock(words, sizeof(ControlFrame));
  if (!cancel_in(context, kAnySource, code)) return;
  cancel_partitioned(context, code);
  run_completions();
  // Threads may wait for what has ended here.
  if (sleepers_ > 0) waiter_->wake_self();
}

// All in this one context; of a stream, in this sender's. False: it was cancelled before.
bool Core::cancel_in(std::uint32_t context, int source, Code code) {
  if (!channel_.cancelled.add(context, source, code)) return false;
  cancel_kept(context, source, code);
  for (std::uint32_t id = 0; id < channel_.transfers.count(); ++id) {
    Transfer* const each = channel_.transfers.find(id);
    if (each->context == context && (!is_stream(context) || each->source == source))
      cancel_transfer(each, code);
  }
  return true;
}

void Core::cancel_transfer(Transfer* transfer, Code code) {
  switch (transfer->phase) {
    case Phase::unused:
    case Phase::complete:
    case Phase::copying:  // its copies end it
      return;
    case Phase::posted:
      channel_.posted.remove(transfer);
      return fail_with(transfer, code);
    case Phase::waiting: {
      PeerState& to = peer(transfer->peer);
      if (!to.waiting.remove(transfer)) return;  // being posted
      update_open(to);
      return fail_with(transfer, code);
    }
    case Phase::offered:
    case Phase::unconfirmed:
      transfer->failure = code;
      if (transfer->phase == Phase::offered) DeviceReads(*this).tell_ready(transfer);
      return queue_recall(peer(transfer->peer), transfer->id);
    case Phase::awaiting:
      transfer->failure = code;
      return queue_cut(peer(transfer->peer), transfer->peer_id, 0, code);
    case Phase::placed:
      transfer->status.code = code;
      return;
    case Phase::matched:
    case Phase::granted:
    case Phase::sending:
    case Phase::pinned:
    case Phase::getting:
      transfer->failure = code;
      if (transfer->waits_to_move()) {
        transfer->phase = Phase::copying;
        return queue_cut(peer(transfer->peer), transfer->peer_id, 0, code);
      }
      work_ = true;
      return;
  }
}

// Of a receive whose sender waits for an answer.
void Core::give_up(PeerState& peer, Transfer* transfer) {
  queue_cut(peer, transfer->peer_id, 0, transfer->failure);
  fail_with(transfer, transfer->failure);
}

// Its last frame is here: it ends well, unless its context was cancelled meanwhile.
void Core::end_answered(Transfer* transfer) {
  if (transfer->failure != Code::ok) [[unlikely]]
    transfer->status.code = transfer->failure;
  complete(transfer);
}

// Those that are being brought end with that (on_brought). What a matched probe took stays, without
// its content, for the receive that it is promised to.
void Core::cancel_kept(std::uint32_t context, int source, Code code) {
  const auto is_meant = [&](const KeptMessage& message) {
    return message.context == context && message.bringing == nullptr &&
           (!is_stream(context) || message.source == source);
  };
  for (MatchNode* node = channel_.taken.oldest(); node != nullptr; node = node->newer) {
    KeptMessage* const message = static_cast<KeptMessage*>(node);
    if (!is_meant(*message)) continue;
    if (message->failure == Code::ok) refuse(message->from, message->header, message->bytes, code);
    message->failure = code;
  }
  for (MatchNode* node = channel_.unexpected.oldest(); node != nullptr;) {
    KeptMessage* const message = static_cast<KeptMessage*>(node);
    node = node->newer;
    if (!is_meant(*message)) continue;
    drop_kept(message);
    refuse(message->from, message->header, message->bytes, code);
    bytes_.give(message, sizeof(KeptMessage) + message->bytes);
  }
}

// Credit goes back, and who waits for an answer has it.
void Core::refuse(int from, const transport::FrameHeader& header, std::size_t bytes, Code code) {
  PeerState& sender = peer(from);
  const bool is_eager = header.kind == static_cast<std::uint8_t>(Kind::eager);
  if (is_eager && (header.flags & kOwesNothing) == 0) consumed(sender, bytes);
  if (!is_eager) pay_back_key(from, bytes);
  if (!is_eager || (header.flags & kWantsTaken) != 0)
    queue_cut(sender, high_of(header.cookie), 0, code);
}

void Core::queue_cut(PeerState& peer, std::uint32_t id, std::uint64_t sent, Code code) {
  queue_control(peer, Kind::cut, sent, id);
  peer.control_last->header.tag = static_cast<std::int32_t>(code);
}

void Core::on_cut(int from, const transport::FrameHeader& header) {
  const Transfer* const found = channel_.transfers.find(low_of(header.cookie));
  const bool is_received = found != nullptr && found->phase == Phase::granted;
  const bool is_asked = found != nullptr && found->phase == Phase::unconfirmed;
  Transfer* const transfer = find_active(low_of(header.cookie), from,
                                         is_received ? Phase::granted
                                         : is_asked  ? Phase::unconfirmed
                                                     : Phase::offered,
                                         "cut");
  if (transfer == nullptr) return;
  if (transfer->failure == Code::ok) transfer->failure = code_of(header.tag);
  if (!is_received) {
    if (!is_asked) DeviceReads(*this).tell_ready(transfer);
    return fail_with(transfer, transfer->failure);
  }
  // Parts of it may come after this.
  transfer->total = std::min(transfer->total, header.length);
  end_received(from, header, transfer);
}

}  // namespace tutti::p2p
