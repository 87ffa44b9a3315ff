// Receives and probes: first what has arrived already, then the line of posted receives.
#include <cstring>
#include <utility>

#include "base/check.h"
#include "p2p/core.h"

namespace tutti::p2p {

Transfer* Core::post_recv(int rank, const Envelope& envelope, const types::Buffer& buffer) {
  Transfer* const transfer = channel_.transfers.take();
  transfer->begin(Phase::waiting, rank, envelope, buffer);
  try {
    if (const Code code = why_cancelled(envelope); code != Code::ok) [[unlikely]] {
      fail_with(transfer, code);
      return transfer;
    }
    if (!channel_.unexpected.is_empty()) [[unlikely]] {
      auto* const found = static_cast<KeptMessage*>(channel_.unexpected.find(key_of(*transfer)));
      if (found != nullptr) {
        if (found->bringing == nullptr) stock_for(transfer, found->header, found->bytes);
        drop_kept(found);
        give_message(transfer, found);
        return transfer;
      }
    }
    if (rank == kAnySource) {
      if (active_.size() != opened_.transports.size()) activate_all();
    } else if (const PeerState& from = routed(rank); from.gone) [[unlikely]] {
      fail_with(transfer, from.failure);
      return transfer;
    }
  } catch (...) {  // before it took or posted anything
    abandon(transfer);
    throw;
  }
  transfer->phase = Phase::posted;
  channel_.posted.add(transfer);
  return transfer;
}

Pending* Core::recv(int rank, const Envelope& envelope, const types::Buffer& buffer) {
  return post_recv(rank, envelope, buffer);
}

// What is thrown leaves nothing posted; a message that has met it is waited for all the same.
Status Core::recv_now(int rank, const Envelope& envelope, const types::Buffer& buffer) {
  Transfer* const transfer = post_recv(rank, envelope, buffer);
  while (!transfer->done) try {
      wait_for(transfer->done);
    } catch (const std::bad_alloc&) {
      cancel(transfer);  // if no message has met it
      if (transfer->status.cancelled) {
        release(transfer);
        throw;
      }
    } catch (...) {
      cancel(transfer);
      release(transfer);
      throw;
    }
  Status status;
  copy_fresh(status, transfer->status);
  channel_.transfers.give(transfer);
  return status;
}

// Hands a kept message to the receive that takes it, and forgets it. Behind stock_for().
void Core::give_message(Transfer* transfer, KeptMessage* message) {
  const int from = message->from;
  if (std::exchange(message->is_taken, false)) channel_.taken.remove(message);
  if (message->bringing != nullptr) {
    transfer->phase = Phase::matched;
    transfer->peer = message->from;
    message->taker = transfer;
    return;
  }
  if (message->failure != Code::ok) {
    fail_with(transfer, message->failure);
  } else if (message->header.kind == static_cast<std::uint8_t>(Kind::eager)) {
    deliver_eager(transfer, message->from, message->header, message->content());
  } else {
    match_offer(transfer, message->from, message->header, message->content());
    answer_or_keep(transfer);
  }
  bytes_.give(message, sizeof(KeptMessage) + message->bytes);
  // The sender may wait for our word, and our caller's next call may be long in coming.
  if (PeerState& sender = peer(from); sender.control_first != nullptr) flush_or_keep(sender);
}

// The message a receive would take now, after one round of progress if need be. When there
// is none and none can come any more, status->code says so.
KeptMessage* Core::peek(int rank, const Envelope& envelope, Status* status) {
  const MatchKey wanted{envelope.context, envelope.source, envelope.tag};
  if (rank == kAnySource) activate_all();
  PeerState* const from = rank == kAnySource ? nullptr : &routed(rank);
  UnexpectedQueue& unexpected = channel_.unexpected;
  MatchNode* found = unexpected.find(wanted);
  if (found == nullptr) {
    poll();
    found = unexpected.find(wanted);
  }
  *status = Status{};
  if (found == nullptr) {
    if (from != nullptr && from->gone) status->code = from->failure;
    if (const Code code = why_cancelled(envelope); code != Code::ok) status->code = code;
    return nullptr;
  }
  KeptMessage* const message = static_cast<KeptMessage*>(found);
  status->source = message->source;
  status->tag = message->tag;
  status->bytes = static_cast<std::int64_t>(message->header.length);
  return message;
}

bool Core::probe(int rank, const Envelope& envelope, Status* status) {
  return peek(rank, envelope, status) != nullptr || status->code != Code::ok;
}

KeptMessage* Core::take(int rank, const Envelope& envelope, Status* status) {
  KeptMessage* const message = peek(rank, envelope, status);
  if (message == nullptr) return nullptr;
  drop_kept(message);
  message->is_taken = true;
  channel_.taken.add(message);
  return message;
}

Pending* Core::recv_taken(KeptMessage* message, const types::Buffer& buffer) {
  Transfer* const transfer = channel_.transfers.take();
  transfer->begin(Phase::posted, message->from,
                  {message->context, message->source, message->tag, 0}, buffer);
  try {
    if (message->bringing == nullptr) stock_for(transfer, message->header, message->bytes);
  } catch (...) {
    abandon(transfer);
    throw;
  }
  give_message(transfer, message);
  return transfer;
}

void Core::release(Pending* request) {
  Transfer* const transfer = static_cast<Transfer*>(request);
  TUTTI_CHECK(transfer->phase != Phase::unused && !transfer->detached, "released twice");
  if (transfer->done) return channel_.transfers.give(transfer);
  transfer->detached = true;
}

}  // namespace tutti::p2p
