// MessagePairs: the messages between pairs of ranks, matched in step order; private to sched.
//
// The n-th send of rank a to rank b meets the n-th recv of b from a. A ready step is posted
// when those before it on its side of the pair are posted (sched.h, Schedule).
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "sched/sched.h"

namespace tutti::sched {

class MessagePairs {
 public:
  struct Place {
    std::size_t rank = 0;
    std::uint32_t step = 0;
  };

  explicit MessagePairs(std::span<const Schedule> ranks);

  // A send or recv has no predecessor left. Calls `meet` for each send whose message has both
  // ends posted now.
  void ready(Place place, const std::function<void(Place)>& meet);
  // The other end of a message that has one.
  Place partner(Place place) const;
  // Some step that is ready and not met, for the report on ranks that wait for ever.
  std::optional<Place> first_waiting() const;

 private:
  struct Pair {
    std::vector<std::uint32_t> sends, recvs;  // steps, in order
    std::vector<bool> send_ready, recv_ready;
    std::size_t sends_posted = 0, recvs_posted = 0;
    std::size_t met = 0;
  };
  struct End {
    Pair* pair = nullptr;
    std::size_t index = 0;
  };
  std::map<std::pair<std::size_t, std::size_t>, Pair> pairs_;  // (from, to)
  std::vector<std::vector<End>> ends_;                         // by rank and step
  std::span<const Schedule> ranks_;
};

}  // namespace tutti::sched
