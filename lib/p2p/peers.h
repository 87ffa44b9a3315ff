// What the endpoint keeps about another rank. Made when that rank is first used; until then it
// costs one pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "p2p/transfer.h"
#include "p2p/ways.h"
#include "transport/transport.h"

namespace tutti::p2p {

// What a transport has told: that a peer is gone.
struct Loss {
  int peer;
  const char* link;  // counts only if that is the ordered one; null: in any case
  Error why;
};

// Who is told once that a rank of the first world is lost that did not leave (Endpoint::when_lost).
struct LossHook {
  void (*then)(Pending* self) = nullptr;
  void* owner = nullptr;
  bool has_lost = false;
};

// A frame without payload that waits for room in the link. From the byte pool.
struct ControlFrame {
  transport::FrameHeader header;
  ControlFrame* next = nullptr;
};

// A link beside the ordered one, which carries data of long messages (transport::carries).
struct BulkLink {
  transport::Picked picked;
  std::unique_ptr<transport::Link> link;  // made when a message first takes it
  std::uint32_t full_in_round = 0;
};

struct PeerState {
  static constexpr std::uint32_t kMostUnread = 8, kAskedOnceIn = 64;
  // Read by try_send: a message of up to this many bytes may go now; -1: use the long way.
  std::int64_t open_bytes = -1;
  transport::Link* link = nullptr;
  std::uint32_t credit = 0;  // units I may still send eagerly
  std::uint32_t owed = 0;    // units consumed here and not yet returned

  int rank = 0;
  bool routed = false;        // a transport was picked
  bool gone = false;          // no frame comes or goes any more; `failure` says why
  bool left = false;          // it said goodbye
  bool is_recalling = false;  // no message may pass a recall that is still queued
  bool is_listed = false;     // in Core::busy_
  bool explained_flood = false;
  std::size_t transport = 0;
  transport::Traits traits;
  std::size_t eager_bytes = 0;   // up to here a message goes in one frame, without asking
  std::size_t packed_bytes = 0;  // and up to here if it must be packed for that
  Code failure = Code::proc_aborted;
  std::unique_ptr<transport::Link> owned_link;

  // The round in which its link was found full: asking again would only disturb the reader.
  std::uint32_t full_in_round = 0;
  std::vector<BulkLink> bulk;
  std::size_t turns = 0;          // taken by rails among them
  std::vector<BulkLink> readers;  // of devices' memory
  std::uint32_t unread = 0;       // messages of ours in a row that it could read and did not
  std::uint32_t not_asked = 0;    // messages sent while it counts as one that never reads
  bool takes_staged = false;      // it was sent devices' memory, and has no link that reads such
  bool was_not_read = false;      // what it offered of such memory last could not be read here
  bool takes_moved = false;       // its link moves such memory itself, and was sent some
  std::string why_staged;         // why it cannot read ours; empty: it was not tried, or can
  std::string why_not_read;       // what was said last of why we do not read its memory
  std::unique_ptr<Ways> ways;     // of its long messages; made with the first that has two
  std::unique_ptr<Ways> device_ways;  // of those that it offers out of a device's memory
  Unasked unasked;                    // messages of ours, out of such memory
  std::uint64_t messages_sent = 0, bytes_sent = 0;

  TransferLine waiting;  // sends whose first frame was not posted yet, in order
  ControlFrame* control_first = nullptr;
  ControlFrame* control_last = nullptr;
  Transfer* placed = nullptr;  // the receive whose eager payload the transport is reading

  // A message of ours that it was to read comes in frames instead; the tag of its grant says why.
  void note_granted(std::uint64_t bytes, std::int32_t tag) {
    unread = tag > 0 ? 0 : unread + 1;
    if (tag > 1) unasked.set(bytes, static_cast<std::uint32_t>(tag) - 1);
  }
  std::size_t eager_for(const types::Buffer& buffer) const {
    return buffer.device == nullptr && buffer.is_contiguous() ? eager_bytes : packed_bytes;
  }
  // It is asked again now and then: it may have come to use a GPU (record 0064).
  bool never_reads() const { return unread >= kMostUnread; }
  // One more goes through host memory without its having been asked.
  void note_unasked(std::uint64_t bytes) {
    unasked.take(bytes);
    if (never_reads() && ++not_asked % kAskedOnceIn == 0) unread = kMostUnread - 1;
  }
  bool has_queued() const { return control_first != nullptr || !waiting.is_empty(); }
};

}  // namespace tutti::p2p
