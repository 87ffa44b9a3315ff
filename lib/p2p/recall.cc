// Cancelling (MPI 5.0, 3.8.4): receives that matched nothing yet, and sends nobody received yet.
//
// A send whose first frame is with its peer already is recalled: the peer gives the message up
// if no receive has taken it, and says so; if one has, the message ends as always. A short message
// whose send was done when it left is asked for by its number, and the peer answers either way.
#include "p2p/core.h"

namespace tutti::p2p {
namespace {

constexpr std::uint32_t kNoContext = ~0U;  // what asks for a message is in none

}  // namespace

void Core::cancel(Pending* request) {
  Transfer* const transfer = static_cast<Transfer*>(request);
  switch (transfer->phase) {
    case Phase::posted:
      channel_.posted.remove(transfer);
      return end_cancelled(transfer);
    case Phase::waiting: {
      PeerState& to = peer(transfer->peer);
      if (transfer->failure != Code::ok) return;  // its receiver is told
      if (!to.waiting.remove(transfer)) return;   // being posted
      update_open(to);
      return end_cancelled(transfer);
    }
    case Phase::offered:
    case Phase::unconfirmed: {
      stock();
      PeerState& to = peer(transfer->peer);
      if (to.gone) return;
      transfer->is_asked_back = true;
      return queue_recall(to, transfer->id);
    }
    default:
      return;  // on its way: it ends as if nothing had been said
  }
}

void Core::queue_recall(PeerState& to, std::uint64_t cookie) {
  to.is_recalling = true;
  update_open(to);
  queue_control(to, Kind::recall, 0, cookie);
}

Pending* Core::recall(int rank, std::uint32_t number) {
  stock();
  Transfer* const transfer = channel_.transfers.take();
  transfer->begin(Phase::unconfirmed, rank, {kNoContext, 0, 0, 0}, {});
  PeerState& to = peer(rank);
  if (to.gone || to.left)
    complete(transfer);
  else
    queue_recall(to, cookie_of(transfer->id, number));
  return transfer;
}

void Core::end_cancelled(Transfer* transfer) {
  if (transfer->failure != Code::ok) return fail_with(transfer, transfer->failure);
  transfer->status.cancelled = true;
  complete(transfer);
}

// The peer wants its message back. Not in the queue: a receive has it. Whoever sent that message
// was or will be told, unless it was sent without asking.
void Core::on_recall(int from, const transport::FrameHeader& header) {
  const std::uint32_t id = low_of(header.cookie), number = high_of(header.cookie);
  for (MatchNode* node = channel_.unexpected.oldest(); node != nullptr; node = node->newer) {
    KeptMessage* const message = static_cast<KeptMessage*>(node);
    if (is_recalled(*message, from, number, id)) return give_back(message, id);
  }
  if (number != 0) queue_control(peer(from), Kind::taken, 0, id);
}

// Whether it is the message that `from` wants back: by its number, or by its sender's id.
bool Core::is_recalled(const KeptMessage& message, int from, std::uint32_t number,
                       std::uint32_t id) {
  const bool is_eager = message.header.kind == static_cast<std::uint8_t>(Kind::eager);
  const bool is_plain = is_eager && (message.header.flags & kWantsTaken) == 0;
  return message.from == from && message.bringing == nullptr && is_plain == (number != 0) &&
         high_of(message.header.cookie) == (is_plain ? number : id);
}

void Core::give_back(KeptMessage* message, std::uint32_t id) {
  drop_kept(message);  // behind stock(), as of every frame that asks for something
  const bool is_eager = message->header.kind == static_cast<std::uint8_t>(Kind::eager);
  PeerState& sender = peer(message->from);
  if (is_eager && (message->header.flags & kOwesNothing) == 0) consumed(sender, message->bytes);
  if (!is_eager) pay_back_key(message->from, message->bytes);
  queue_control(sender, Kind::recalled, 0, id);
  bytes_.give(message, sizeof(KeptMessage) + message->bytes);
}

void Core::on_recalled(int from, const transport::FrameHeader& header) {
  Transfer* const transfer = channel_.transfers.find(low_of(header.cookie));
  const bool is_offered = transfer != nullptr && transfer->phase == Phase::offered;
  if (find_active(low_of(header.cookie), from, is_offered ? Phase::offered : Phase::unconfirmed,
                  "recalled") != nullptr)
    end_cancelled(transfer);
}

// The peer's last word: it answers nothing any more. A short message that had left is with it.
void Core::on_goodbye(PeerState& peer) {
  peer.left = true;
  for (std::uint32_t id = 0; id < channel_.transfers.count() && !is_closed_; ++id) {
    Transfer* const each = channel_.transfers.find(id);
    if (each->peer != peer.rank ||
        (each->phase != Phase::offered && each->phase != Phase::unconfirmed))
      continue;
    if (each->context == kNoContext)
      complete(each);
    else if (each->is_asked_back)
      end_cancelled(each);
    else
      fail_with(each, each->failure != Code::ok ? each->failure : peer.failure);
  }
}

}  // namespace tutti::p2p
