// sched: a collective as data. What one rank does: steps over three spaces, in units.
//
// Values: built, copied, printed, proved and run; nothing here blocks or touches a network.
// A *unit* is whatever the binding says later: one element for reductions, one byte of the
// packed stream for data movement. Steps carry no hand-written dependency: the builder infers
// them from what each step reads and writes.
#pragma once

#include <cstdint>
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

enum class Kind : std::uint8_t { send, recv, copy, reduce };

// send: `from` goes to `peer`. recv: `into` is filled by `peer`. copy: into = from.
// reduce: into = from op into when `from_first`, else into = into op from.
struct Step {
  Kind kind = Kind::copy;
  bool from_first = true;
  std::int32_t peer = -1;  // rank in the team the schedule was built for
  Slice from;
  Slice into;
  std::uint32_t first_successor = 0;  // into Schedule::successors
  std::uint32_t successor_count = 0;
  std::uint32_t predecessors = 0;     // how many must be done before
};

// Messages between two ranks match in the order of their send and recv steps.
struct Schedule {
  std::vector<Step> steps;  // in the author's order, which is one legal order of running
  std::vector<std::uint32_t> successors;
  Count scratch = 0;        // units
  bool reduces = false;
};

// Textual dump, one step a line; loads back to an equal schedule.
std::string to_text(const Schedule& schedule);
Result<Schedule> from_text(const std::string& text);

}  // namespace tutti::sched
