// Matching of sends and recvs, pair by pair of ranks.
#include "sched/lanes.h"

#include <algorithm>

namespace tutti::sched {

Lanes::Lanes(std::span<const Schedule> ranks) : ranks_(ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    seats_.emplace_back(ranks[r].steps.size());
    for (std::uint32_t i = 0; i < ranks[r].steps.size(); ++i) {
      const Step& step = ranks[r].steps[i];
      if (step.kind != StepKind::send && step.kind != StepKind::recv) continue;
      const auto peer = static_cast<std::size_t>(step.peer);
      const bool sends = step.kind == StepKind::send;
      Lane& lane = lanes_[sends ? std::pair(r, peer) : std::pair(peer, r)];
      auto& side = sends ? lane.sends : lane.recvs;
      seats_[r][i] = {&lane, side.size()};
      side.push_back(i);
      (sends ? lane.send_ready : lane.recv_ready).push_back(false);
    }
  }
}

void Lanes::ready(Place place, const std::function<void(Place)>& meet) {
  const Seat& seat = seats_[place.rank][place.step];
  Lane& lane = *seat.lane;
  const Step& step = ranks_[place.rank].steps[place.step];
  const bool sends = step.kind == StepKind::send;
  const std::size_t sender = sends ? place.rank : static_cast<std::size_t>(step.peer);
  auto& flags = sends ? lane.send_ready : lane.recv_ready;
  auto& posted = sends ? lane.sends_posted : lane.recvs_posted;
  flags[seat.index] = true;
  while (posted < flags.size() && flags[posted]) ++posted;
  for (const std::size_t both = std::min(lane.sends_posted, lane.recvs_posted); lane.met < both;)
    meet({sender, lane.sends[lane.met++]});
}

Lanes::Place Lanes::partner(Place place) const {
  const Seat& seat = seats_[place.rank][place.step];
  const Step& step = ranks_[place.rank].steps[place.step];
  const auto& other = step.kind == StepKind::send ? seat.lane->recvs : seat.lane->sends;
  return {static_cast<std::size_t>(step.peer), other[seat.index]};
}

std::optional<Lanes::Place> Lanes::first_waiting() const {
  for (const auto& [pair, lane] : lanes_) {
    for (std::size_t i = lane.met; i < lane.sends.size(); ++i)
      if (lane.send_ready[i]) return Place{pair.first, lane.sends[i]};
    for (std::size_t i = lane.met; i < lane.recvs.size(); ++i)
      if (lane.recv_ready[i]) return Place{pair.second, lane.recvs[i]};
  }
  return std::nullopt;
}

}  // namespace tutti::sched
