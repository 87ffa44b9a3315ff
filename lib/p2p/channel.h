// Channel: what the contexts of messages own, apart from peers and links.
//
// There is one, for all contexts, and no lock in it: whoever touches it has the gate.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "p2p/match.h"
#include "p2p/pool.h"
#include "p2p/transfer.h"

namespace tutti::p2p {

class PartitionedHalf;

// Contexts of communicators are below these. Sides of partitioned messages meet in a context of
// their own, their communicator's with all bits of kMeetings; partitions travel in a stream, which
// is numbered by its sender.
inline constexpr std::uint32_t kStreams = 0x8000'0000U;
inline constexpr std::uint32_t kMeetings = 0xc000'0000U;
constexpr bool is_stream(std::uint32_t context) {
  return (context & kMeetings) == kStreams;
}
constexpr bool is_meeting(std::uint32_t context) {
  return (context & kMeetings) == kMeetings;
}

// The contexts that were cancelled, and with which code; streams of their senders.
class CancelledContexts {
 public:
  // False: it was before.
  bool add(std::uint32_t context, int source, Code code) {
    return all_.emplace(key_of(context, source), code).second;
  }
  // Why everything in this context ends; ok: it does not.
  Code why(std::uint32_t context, int source) const {
    if (all_.empty()) [[likely]]
      return Code::ok;
    const auto found = all_.find(key_of(context, source));
    return found == all_.end() ? Code::ok : found->second;
  }

 private:
  using Key = std::pair<std::uint32_t, int>;
  static Key key_of(std::uint32_t context, int source) {
    return {context, is_stream(context) ? source : kAnySource};
  }
  std::map<Key, Code> all_;
};

struct Channel {
  explicit Channel(Core* core) : transfers(core) {}

  PostedQueue posted;          // receives that no message has met
  UnexpectedQueue unexpected;  // messages that no receive has met
  MatchQueue taken;            // messages that a matched probe took, until they are received
  TransferPool transfers;      // requests, free ones too
  TransferLine completions;    // done, on_done not yet called
  CancelledContexts cancelled;
  std::vector<PartitionedHalf*> halves;  // of partitioned messages
  std::uint32_t streams = 0;             // partitioned sends so far
};

}  // namespace tutti::p2p
