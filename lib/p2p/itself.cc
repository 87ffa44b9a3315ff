// Messages of a rank to itself whose receive waits already: no frame, no credit, one copy.
//
// All that is written here lies behind the door of the context, so that threads with communicators
// of their own do this side by side. What else is read (the peer, its link, who sleeps) only
// changes with the gate held, that is while nobody is behind a door.
#include <cstring>

#include "p2p/core.h"

namespace tutti::p2p {

void Core::make_doors() {
  if (has_doors_) return;
  has_doors_ = true;
  const auto sort = [](auto& line, const auto& line_of) {
    for (MatchNode *node = line.oldest(), *next = nullptr; node != nullptr; node = next) {
      next = node->newer;
      auto& other = line_of(node->context);
      if (&other == &line) continue;
      line.remove(node);
      other.add(node);
    }
  };
  sort(
      doors_[0].posted, [this](std::uint32_t context) -> auto& { return door(context).posted; });
  sort(
      doors_[0].unexpected, [this](std::uint32_t context) -> auto& {
        return door(context).unexpected;
      });
}

bool Core::give_to_self(const Envelope& envelope, const void* data, std::size_t bytes, By by) {
  const PeerState* const to = itself();
  // A message sent before may still be on its way; to wake a thread that sleeps takes the gate.
  if (to == nullptr || to->link == nullptr || to->has_queued() || !to->link->is_empty() ||
      (sleepers_ > 0 && by == By::door))
    return false;
  Door& at = door(envelope.context);
  if (by == By::gate && at.looks.is_due()) return false;
  auto* const transfer =
      static_cast<Transfer*>(at.posted.find({envelope.context, envelope.source, envelope.tag}));
  if (transfer == nullptr || !transfer->buffer.is_contiguous() ||
      transfer->buffer.bytes < static_cast<types::Count>(bytes) ||
      (transfer->on_done != nullptr && !transfer->is_plain) ||
      transfer->fingerprint != envelope.fingerprint)
    return false;
  at.posted.remove(transfer);
  ++at.given;
  at.given_bytes += bytes;
  if (bytes > 0) std::memmove(transfer->buffer.at(), data, bytes);
  transfer->peer = to->rank;
  transfer->status.source = envelope.source;
  transfer->status.tag = envelope.tag;
  transfer->status.bytes = static_cast<std::int64_t>(bytes);
  transfer->phase = Phase::complete;
  transfer->done = true;
  const bool was_released = transfer->detached;
  if (transfer->on_done != nullptr) transfer->on_done(transfer);
  if (was_released) recycle(transfer);
  if (by == By::gate) waiter_->busy();  // as in count_sent()
  return true;
}

bool Core::look_is_due(std::uint32_t context) {
  return door(context).looks.is_due();
}

Request* Core::recv_from_self(const Envelope& envelope, const types::Buffer& buffer) {
  const PeerState* const from = itself();
  Door& at = door(envelope.context);
  if (from == nullptr || from->link == nullptr || !at.unexpected.is_empty() || at.free.empty())
    return nullptr;
  Transfer* const transfer = transfers_.take(at.free);
  transfer->begin(Phase::posted, from->rank, envelope, buffer);
  at.posted.add(transfer);
  return transfer;
}

}  // namespace tutti::p2p
