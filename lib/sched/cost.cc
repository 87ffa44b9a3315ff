// What a set of schedules takes on a latency-bandwidth-fold machine: a simulation in time.
//
// A message starts when both its ends are posted, leaves through the sender's port, and after
// the latency enters through the receiver's, each when that port is free. Inside a host the
// ports are the ranks' own (a processor moves the bytes), between hosts they are the hosts'.
// A message occupies a port for its bytes and a share of the latency (the gap), so that cutting
// it in segments is not free. Copies and folds occupy their rank's processor.
#include <queue>

#include "sched/message_pairs.h"
#include "sched/sched.h"

namespace tutti::sched {
namespace {

class Simulation {
 public:
  using Place = MessagePairs::Place;

  Simulation(std::span<const Schedule> ranks, const MachineModel& machine)
      : ranks_(ranks), machine_(machine), pairs_(ranks), processor_(ranks.size(), 0) {
    for (const Schedule& schedule : ranks) {
      line_.ranks.emplace_back(schedule.steps.size());
      auto& waits = waits_for_.emplace_back();
      for (const Step& step : schedule.steps) waits.push_back(step.predecessors);
    }
    int ports = static_cast<int>(ranks.size());
    for (const int host : machine.host_of) ports = std::max(ports, host_port(host) + 1);
    out_free_.resize(static_cast<std::size_t>(ports), 0);
    in_free_.resize(static_cast<std::size_t>(ports), 0);
  }

  Result<Timeline> run() {
    std::size_t all = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      all += ranks_[r].steps.size();
      for (std::uint32_t i = 0; i < ranks_[r].steps.size(); ++i)
        if (ranks_[r].steps[i].predecessors == 0) events_.push({0, {r, i}, What::ready});
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.what == What::ready) begin(event.place, event.time_us);
      if (event.what == What::arrives) arrive(event.place, event.time_us);
      if (event.what == What::done) release(event.place, event.time_us);
    }
    if (finished_ != all)
      return fail(Code::intern, "the schedules never end: check them before costing them");
    return std::move(line_);
  }

 private:
  enum class What { ready, arrives, done };
  struct Event {
    double time_us = 0;
    Place place;
    What what = What::ready;
    // The queue gives the earliest first, then by step and rank: runs repeat exactly, and no
    // rank gets ahead of others by its number.
    bool operator<(const Event& other) const {
      if (time_us != other.time_us) return time_us > other.time_us;
      if (place.step != other.place.step) return place.step > other.place.step;
      return place.rank > other.place.rank;
    }
  };

  void begin(Place place, double now_us) {
    const Step& step = at(place);
    if (step.kind == StepKind::send || step.kind == StepKind::recv) {
      pairs_.ready(place, [&](Place send) { transfer(send, now_us); });
      return;
    }
    const double per_unit =
        step.kind == StepKind::copy ? machine_.copy_us_per_unit : machine_.fold_us_per_unit;
    double& free = processor_[place.rank];
    const double start = std::max(now_us, free);
    free = start + per_unit * static_cast<double>(step.from.count);
    finish(place, start, free);
  }

  // A message whose both ends are posted leaves the sender.
  void transfer(Place send, double now_us) {
    const Link link = link_of(send);
    double& out = out_free_[port_of(send.rank, link.inside)];
    const double start = std::max(now_us, out);
    out = start + link.gap_us + link.wire_us;
    finish(send, start, out);
    events_.push({start + link.latency_us, send, What::arrives});
  }

  void arrive(Place send, double now_us) {
    const Link link = link_of(send);
    const Place recv = pairs_.partner(send);
    double& in = in_free_[port_of(recv.rank, link.inside)];
    const double start = std::max(now_us, in);
    in = start + link.gap_us + link.wire_us;
    finish(recv, start, start + link.wire_us);
  }

  struct Link {
    bool inside;
    double latency_us, gap_us, wire_us;
  };
  Link link_of(Place send) const {
    const Step& step = at(send);
    const bool inside = host_of(send.rank) == host_of(static_cast<std::size_t>(step.peer));
    const double latency = inside ? machine_.inside_latency_us : machine_.between_latency_us;
    const double per_unit = inside ? machine_.inside_us_per_unit : machine_.between_us_per_unit;
    return {inside, latency, latency * machine_.gap_share,
            per_unit * static_cast<double>(step.from.count)};
  }

  void finish(Place place, double start_us, double end_us) {
    line_.ranks[place.rank][place.step] = {start_us, end_us};
    line_.total_us = std::max(line_.total_us, end_us);
    ++finished_;
    events_.push({end_us, place, What::done});
  }

  void release(Place place, double now_us) {
    const Step& step = at(place);
    for (std::uint32_t s = 0; s < step.successor_count; ++s) {
      const auto next = ranks_[place.rank].successors[step.first_successor + s];
      if (--waits_for_[place.rank][next] == 0) begin({place.rank, next}, now_us);
    }
  }

  int host_of(std::size_t rank) const {
    return machine_.host_of.empty() ? 0 : machine_.host_of[rank];
  }
  int host_port(int host) const { return static_cast<int>(ranks_.size()) + host; }
  std::size_t port_of(std::size_t rank, bool inside) const {
    return inside ? rank : static_cast<std::size_t>(host_port(host_of(rank)));
  }
  const Step& at(Place place) const { return ranks_[place.rank].steps[place.step]; }

  std::span<const Schedule> ranks_;
  const MachineModel& machine_;
  MessagePairs pairs_;
  std::vector<double> processor_;           // when each rank's processor is free
  std::vector<double> out_free_, in_free_;  // by port: ranks first, then hosts
  std::vector<std::vector<std::uint32_t>> waits_for_;
  std::priority_queue<Event> events_;
  Timeline line_;
  std::size_t finished_ = 0;
};

}  // namespace

Result<Timeline> cost(std::span<const Schedule> ranks, const MachineModel& machine) {
  return Simulation(ranks, machine).run();
}

}  // namespace tutti::sched
