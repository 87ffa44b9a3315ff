// Matching of sends and recvs, pair by pair of ranks.
#include "sched/message_pairs.h"

#include <algorithm>

namespace tutti::sched {

MessagePairs::MessagePairs(std::span<const Schedule> ranks) : ranks_(ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ends_.emplace_back(ranks[r].steps.size());
    for (std::uint32_t i = 0; i < ranks[r].steps.size(); ++i) {
      const Step& step = ranks[r].steps[i];
      if (step.kind != StepKind::send && step.kind != StepKind::recv) continue;
      const auto peer = static_cast<std::size_t>(step.peer);
      const bool sends = step.kind == StepKind::send;
      Pair& pair = pairs_[sends ? std::pair(r, peer) : std::pair(peer, r)];
      auto& side = sends ? pair.sends : pair.recvs;
      ends_[r][i] = {&pair, side.size()};
      side.push_back(i);
      (sends ? pair.send_ready : pair.recv_ready).push_back(false);
    }
  }
}

void MessagePairs::ready(Place place, const std::function<void(Place)>& meet) {
  const End& end = ends_[place.rank][place.step];
  Pair& pair = *end.pair;
  const Step& step = ranks_[place.rank].steps[place.step];
  const bool sends = step.kind == StepKind::send;
  const std::size_t sender = sends ? place.rank : static_cast<std::size_t>(step.peer);
  auto& flags = sends ? pair.send_ready : pair.recv_ready;
  auto& posted = sends ? pair.sends_posted : pair.recvs_posted;
  flags[end.index] = true;
  while (posted < flags.size() && flags[posted]) ++posted;
  for (const std::size_t both = std::min(pair.sends_posted, pair.recvs_posted); pair.met < both;)
    meet({sender, pair.sends[pair.met++]});
}

MessagePairs::Place MessagePairs::partner(Place place) const {
  const End& end = ends_[place.rank][place.step];
  const Step& step = ranks_[place.rank].steps[place.step];
  const auto& other = step.kind == StepKind::send ? end.pair->recvs : end.pair->sends;
  return {static_cast<std::size_t>(step.peer), other[end.index]};
}

std::optional<MessagePairs::Place> MessagePairs::first_waiting() const {
  for (const auto& [ranks, pair] : pairs_) {
    for (std::size_t i = pair.met; i < pair.sends.size(); ++i)
      if (pair.send_ready[i]) return Place{ranks.first, pair.sends[i]};
    for (std::size_t i = pair.met; i < pair.recvs.size(); ++i)
      if (pair.recv_ready[i]) return Place{ranks.second, pair.recvs[i]};
  }
  return std::nullopt;
}

}  // namespace tutti::sched
