// Flood: what is kept of messages that no receive matches: counted where the daemon sees it,
// bounded, and told once when it is much.
#pragma once

#include <cstdint>
#include <string>

#include "base/knobs.h"
#include "p2p/match.h"
#include "p2p/p2p.h"
#include "p2p/transfer.h"
#include "wireup/wireup.h"

namespace tutti::p2p {

class Flood {
 public:
  Flood(wireup::Wireup& wireup, const Knobs& knobs);

  std::uint64_t messages() const { return messages_; }
  // One more is kept: in `kept`, and so many have been received.
  void add(const KeptMessage& message, const MatchQueue& kept, std::uint64_t received);
  void remove(const KeptMessage& message);
  // Whether so much memory in all may be used for them.
  bool has_room(std::uint64_t bytes);
  // The same for what comes for a device that stands behind its caller: its room is never less than
  // what a peer may leave here.
  bool has_room_for_devices(std::uint64_t bytes) { return bytes <= allowed_ || has_room(bytes); }

 private:
  void record() const;
  std::string describe(const MatchQueue& kept, std::uint64_t received) const;

  wireup::Wireup& wireup_;
  wireup::KeptRecord& record_;
  std::uint64_t from_ = 0;       // so many are told; 0: never
  std::uint64_t messages_ = 0;   // that are kept
  std::uint64_t bytes_ = 0;      // payload of all of them
  std::uint64_t waiting_ = 0;    // whose senders wait for room
  std::int64_t began_ns_ = 0;    // when the last rise to a part of `from_` began
  std::uint64_t received_ = 0;   // messages received before that
  std::uint64_t allowed_ = 0;    // bytes that one peer may leave here
  std::uint64_t budget_ = 0;     // bytes up to which there is room
  bool is_budget_known_ = true;  // else the memory of the host is asked when it is used up
};

}  // namespace tutti::p2p
