// Who must wait for whom: the last writer of each interval and its readers since.
//
// A read waits for the last writer. A write waits for the readers since (they waited for the
// writer themselves), or for the writer when nobody read. Intervals are split where accesses
// begin and end, and merged by every write, so building is near linear. `in` is never written
// and needs no tracking.
#include "sched/hazards.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace tutti::sched {
namespace {

constexpr std::int64_t kNobody = -1;

struct Interval {
  Count end = 0;
  std::int64_t writer = kNobody;
  std::vector<std::uint32_t> readers;
};

class Tracker {
 public:
  void read(const Slice& slice, std::uint32_t step, std::vector<std::uint32_t>& before) {
    if (slice.count == 0) return;
    cover(slice.offset, slice.offset + slice.count);
    for (auto it = at_.find(slice.offset); it != at_.end() && it->first < end_of(slice); ++it) {
      if (it->second.writer != kNobody)
        before.push_back(static_cast<std::uint32_t>(it->second.writer));
      it->second.readers.push_back(step);
    }
  }

  void write(const Slice& slice, std::uint32_t step, std::vector<std::uint32_t>& before) {
    if (slice.count == 0) return;
    split(slice.offset);
    split(end_of(slice));
    auto it = at_.lower_bound(slice.offset);
    while (it != at_.end() && it->first < end_of(slice)) {
      const Interval& old = it->second;
      before.insert(before.end(), old.readers.begin(), old.readers.end());
      if (old.readers.empty() && old.writer != kNobody)
        before.push_back(static_cast<std::uint32_t>(old.writer));
      it = at_.erase(it);
    }
    at_.emplace_hint(it, slice.offset, Interval{end_of(slice), step, {}});
  }

 private:
  static Count end_of(const Slice& slice) { return slice.offset + slice.count; }

  // An interval that holds `position` inside becomes two.
  void split(Count position) {
    auto it = at_.lower_bound(position);
    if (it == at_.begin()) return;
    --it;
    if (it->second.end <= position) return;
    Interval right = it->second;
    it->second.end = position;
    at_.emplace(position, std::move(right));
  }

  // Makes [from, to) a sequence of whole intervals, untouched stretches included.
  void cover(Count from, Count to) {
    split(from);
    split(to);
    auto it = at_.lower_bound(from);
    for (Count cursor = from; cursor < to;) {
      const Count next = it == at_.end() ? to : std::min(to, it->first);
      if (next > cursor) it = at_.emplace_hint(it, cursor, Interval{next, kNobody, {}});
      cursor = it->second.end;
      ++it;
    }
  }

  std::map<Count, Interval> at_;
};

using Dependency = std::pair<std::uint32_t, std::uint32_t>;  // earlier step, later step

// Stores these edges in the schedule; kept in the order given, by earlier step.
void store_edges(Schedule& schedule, const std::vector<Dependency>& edges) {
  for (Step& step : schedule.steps) step.successor_count = step.predecessors = 0;
  for (const auto& [earlier, later] : edges) {
    ++schedule.steps[earlier].successor_count;
    ++schedule.steps[later].predecessors;
  }
  std::uint32_t first = 0;
  for (Step& step : schedule.steps) {
    step.first_successor = first;
    first += step.successor_count;
  }
  schedule.successors.assign(edges.size(), 0);
  std::vector<std::uint32_t> filled(schedule.steps.size(), 0);
  for (const auto& [earlier, later] : edges)
    schedule.successors[schedule.steps[earlier].first_successor + filled[earlier]++] = later;
}

}  // namespace

void link(Schedule& schedule) {
  Tracker out;
  Tracker scratch;
  const auto tracker = [&](const Slice& slice) {
    return slice.space == Space::out ? &out : &scratch;
  };
  std::vector<Dependency> edges;
  edges.reserve(schedule.steps.size() * 2);
  std::vector<std::uint32_t> before;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    before.clear();
    if (step.kind != StepKind::recv && step.from.space != Space::in)
      tracker(step.from)->read(step.from, i, before);
    if (step.kind != StepKind::send) {
      TUTTI_CHECK(step.into.space != Space::in, "step " + std::to_string(i) + " writes `in`");
      tracker(step.into)->write(step.into, i, before);
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const std::uint32_t earlier : before)
      if (earlier != i) edges.emplace_back(earlier, i);
  }
  store_edges(schedule, edges);
}

}  // namespace tutti::sched
