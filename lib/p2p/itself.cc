// Messages of a rank to itself whose receive waits already: no frame, no credit, one copy.
#include <cstring>

#include "p2p/core.h"

namespace tutti::p2p {

bool Core::give_to_self(const Envelope& envelope, const void* data, std::size_t bytes) {
  PeerState* const to = peers_[static_cast<std::size_t>(wireup_.rank())].get();
  // A message sent before may still be on its way.
  if (to == nullptr || to->link == nullptr || to->has_queued() || !to->link->is_empty() ||
      looks_.take_turn())
    return false;
  auto* const transfer = static_cast<Transfer*>(
      channel_.posted.find({envelope.context, envelope.source, envelope.tag}));
  if (transfer == nullptr || !transfer->buffer.is_contiguous() ||
      transfer->buffer.bytes < static_cast<types::Count>(bytes) ||
      transfer->fingerprint != envelope.fingerprint)
    return false;
  channel_.posted.remove(transfer);
  if (bytes > 0) std::memmove(transfer->buffer.at(), data, bytes);
  transfer->peer = to->rank;
  transfer->status.source = envelope.source;
  transfer->status.tag = envelope.tag;
  transfer->status.bytes = static_cast<std::int64_t>(bytes);
  ++counted_.messages_received;
  counted_.bytes_received += bytes;
  count_sent(*to, bytes);
  complete(transfer);
  run_completions();
  return true;
}

}  // namespace tutti::p2p
