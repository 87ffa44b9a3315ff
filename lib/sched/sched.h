// sched: a collective as data. What one rank does: steps over three spaces, in units.
//
// Values: built, copied, printed, proved, costed and run; nothing here blocks or touches a
// network. A *unit* is whatever the binding says later: one element for reductions, one byte of
// the packed stream for data movement. Steps carry no hand-written dependency: the builder
// infers them from what each step reads and writes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::sched {

using Count = std::int64_t;

enum class Space : std::uint8_t { in, out, scratch };

struct Slice {
  Space space = Space::out;
  Count offset = 0;
  Count count = 0;
  Slice part(Count from, Count length) const { return {space, offset + from, length}; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

enum class StepKind : std::uint8_t { send, recv, copy, reduce };

// send: `from` goes to `peer`. recv: `into` is filled by `peer`. copy: into = from.
// reduce: into = from op into when `from_first`, else into = into op from.
struct Step {
  StepKind kind = StepKind::copy;
  bool from_first = true;
  std::int32_t peer = -1;  // rank in the team the schedule was built for
  Slice from = {};
  Slice into = {};
  std::uint32_t first_successor = 0;  // into Schedule::successors
  std::uint32_t successor_count = 0;
  std::uint32_t predecessors = 0;  // how many must be done before
  friend bool operator==(const Step&, const Step&) = default;
};

// Messages between two ranks match in the order of their send and recv steps. No edge says so:
// whoever runs a schedule posts the sends to one peer in step order, and the recvs from one peer
// in step order; a step that is ready waits until those before it to its peer are posted (not
// done). Steps never write `in`; scratch starts undefined (a barrier passes such bytes around).
struct Schedule {
  std::vector<Step> steps;  // in the author's order, which is one legal order of running
  std::vector<std::uint32_t> successors;
  Count scratch = 0;  // units
  bool reduces = false;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// What an algorithm writes to, in textbook order. Messages longer than `segment` units are cut
// (on both sides alike, from the start of the slice), so forwarding pipelines by itself. Empty
// slices make no step. A copy out of `in` is put off: reads go to the origin, a recv_reduce
// lands directly in the target, and only what is still needed at the end is copied. A copy into
// scratch that nothing reads makes no step.
class Builder {
 public:
  explicit Builder(Count segment = 0);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Slice scratch(Count count);  // fresh, undefined
  void send(Slice from, int peer);
  void recv(Slice into, int peer);
  void copy(Slice from, Slice into);  // equal counts; onto itself: nothing
  void reduce(Slice from, Slice into, bool from_first = true);
  // Receives into staging, then into = received op into when `from_first`, else into op received.
  void recv_reduce(Slice into, int peer, bool from_first = true);
  Schedule finish();  // once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Textual dump, one step a line.
std::string to_text(const Schedule& schedule);

// What stands in one unit: the fold in rank order of unit `index` of ranks first .. last - 1.
// first == last: undefined before, anything after.
struct Term {
  std::int32_t first = 0, last = 0;
  Count index = 0;
};

// What a rank starts with and must end with, unit by unit.
struct Contract {
  std::vector<Term> in, out;   // before
  std::vector<Term> expected;  // of `out`, after
  bool ordered = true;         // operands must stand in rank order
  bool barrier = false;        // proves that each rank hears of all, instead of contents
};

// Runs all ranks symbolically in one random legal order, with sends that wait for their receive.
// The error names rank and step: undefined read, length mismatch, ranks that wait for ever,
// message nobody takes, wrong contributions or order, steps that touch the same units unordered.
Result<void> check(std::span<const Schedule> ranks, std::span<const Contract> contracts,
                   std::uint64_t seed);

// A latency-bandwidth-fold machine. Ports serialise: a rank's own inside a host, the host's
// between hosts. Empty host_of: one host.
struct MachineModel {
  double inside_latency_us = 1, inside_us_per_unit = 1e-4;
  double between_latency_us = 20, between_us_per_unit = 1e-3;
  double fold_us_per_unit = 1e-4, copy_us_per_unit = 1e-4;
  double gap_share = 0;  // of a latency: a message keeps its ports busy so long, beside its bytes
  std::span<const int> host_of;
};
struct Timing {
  double start_us = 0, end_us = 0;
};
struct Timeline {
  std::vector<std::vector<Timing>> ranks;  // one Timing a step
  double total_us = 0;
};
Result<Timeline> cost(std::span<const Schedule> ranks, const MachineModel& machine);
Result<std::string> draw(std::span<const Schedule> ranks, const MachineModel& machine,
                         const std::string& title);  // SVG: time to the right, a lane a rank

}  // namespace tutti::sched
