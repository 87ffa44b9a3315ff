// The builder: textbook steps in, a schedule with inferred dependencies out.
//
// Cutting in segments, putting off copies (or leaving them out, if nobody reads what they make) and
// placing the staging of recv_reduce happen here, so an algorithm mentions none of them. Staging is
// placed at the end, when all sizes are known.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "sched/deferred.h"
#include "sched/hazards.h"
#include "sched/sched.h"
#include "sched/scratch_reads.h"

namespace tutti::sched {
namespace {

// Staging that together fits in this many units is not shared: all receives are posted at once.
constexpr Count kPrepostedUnits = 4096;
constexpr Count kStagingDepth = 4;  // segments of one peer received ahead of their fold
constexpr Count kWholeDepth = 2;    // the same for messages that are not cut
constexpr int kAllPeers = -1;

// A receive whose place in scratch is decided at the end, and the fold that follows it.
struct Staged {
  std::size_t recv = 0;
  int group = kAllPeers;  // segments of one peer share a ring of slots; whole messages share one
  Count count = 0;
};

struct SlotRing {
  Count total = 0;
  Count largest = 0;
  Count capacity = 0;
  Count base = 0;
  Count cursor = 0;
};

}  // namespace

struct Builder::State {
  Count segment = 0;
  Schedule schedule;
  Deferred deferred;
  std::vector<Staged> staged;
  bool finished = false;

  // Calls `each(offset, count)` for every segment of a message of `count` units.
  template <class Each>
  void cut(Count count, Each each) {
    const Count piece = segment > 0 ? segment : count;
    for (Count offset = 0; offset < count; offset += piece)
      each(offset, std::min(piece, count - offset));
  }

  void add(Step step) { schedule.steps.push_back(step); }

  void add_copy(const Slice& from, const Slice& into) {
    cut(from.count, [&](Count offset, Count count) {
      add({.kind = StepKind::copy,
           .from = from.part(offset, count),
           .into = into.part(offset, count)});
    });
  }

  // Where to read `slice` from: its origin when its copy was put off.
  Slice readable(const Slice& slice) {
    if (const auto origin = deferred.origin(slice)) return *origin;
    settle(slice);
    return slice;
  }

  // Makes put-off copies that overlap `slice` now.
  void settle(const Slice& slice) {
    for (const auto& copy : deferred.take(slice)) add_copy(copy.from, copy.into);
  }

  void add_recv_reduce(const Slice& into, int peer, bool from_first) {
    schedule.reduces = true;
    if (const auto own = deferred.origin(into)) {  // received lands in place, own is the operand
      deferred.take(into);
      add({.kind = StepKind::recv, .peer = peer, .into = into});
      add({.kind = StepKind::reduce, .from_first = !from_first, .from = *own, .into = into});
      return;
    }
    settle(into);
    const Slice unplaced{Space::scratch, 0, into.count};
    staged.push_back({schedule.steps.size(), segment > 0 ? peer : kAllPeers, into.count});
    add({.kind = StepKind::recv, .peer = peer, .into = unplaced});
    add({.kind = StepKind::reduce, .from_first = from_first, .from = unplaced, .into = into});
  }

  // Copies whose result nobody asked for, and then those that only they read: from the last step
  // on.
  void drop_unread_copies() {
    ScratchReads later;
    std::vector<Step> kept;
    for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step) {
      if (step->kind == StepKind::copy && step->into.space == Space::scratch &&
          !later.meet(step->into))
        continue;
      if (step->kind != StepKind::recv) later.add(step->from);
      if (step->kind == StepKind::reduce) later.add(step->into);
      kept.push_back(*step);
    }
    schedule.steps.assign(kept.rbegin(), kept.rend());
  }

  void place_staging() {
    std::map<int, SlotRing> rings;
    for (const Staged& one : staged) {
      SlotRing& ring = rings[one.group];
      ring.total += one.count;
      ring.largest = std::max(ring.largest, one.count);
    }
    for (auto& [group, ring] : rings) {
      const Count depth = group == kAllPeers ? kWholeDepth : kStagingDepth;
      ring.capacity = std::min(ring.total, std::max(kPrepostedUnits, depth * ring.largest));
      ring.base = schedule.scratch;
      schedule.scratch += ring.capacity;
    }
    for (const Staged& one : staged) {
      SlotRing& ring = rings[one.group];
      if (ring.cursor + one.count > ring.capacity) ring.cursor = 0;
      schedule.steps[one.recv].into.offset = ring.base + ring.cursor;
      schedule.steps[one.recv + 1].from.offset = ring.base + ring.cursor;
      ring.cursor += one.count;
    }
  }
};

Builder::Builder(Count segment) : state_(std::make_unique<State>()) {
  state_->segment = segment;
}
Builder::~Builder() = default;

Slice Builder::scratch(Count count) {
  const Slice fresh{Space::scratch, state_->schedule.scratch, count};
  state_->schedule.scratch += count;
  return fresh;
}

void Builder::send(Slice from, int peer) {
  state_->cut(from.count, [&](Count offset, Count count) {
    const Slice piece = state_->readable(from.part(offset, count));
    state_->add({.kind = StepKind::send, .peer = peer, .from = piece});
  });
}

void Builder::recv(Slice into, int peer) {
  state_->deferred.take(into);
  state_->cut(into.count, [&](Count offset, Count count) {
    state_->add({.kind = StepKind::recv, .peer = peer, .into = into.part(offset, count)});
  });
}

void Builder::copy(Slice from, Slice into) {
  TUTTI_CHECK(from.count == into.count, "copy of unequal slices");
  if (from == into || from.count == 0) return;
  const Slice origin = state_->readable(from);
  state_->deferred.take(into);
  if (origin.space == Space::in)
    state_->deferred.add(origin, into);
  else
    state_->add_copy(origin, into);
}

void Builder::reduce(Slice from, Slice into, bool from_first) {
  TUTTI_CHECK(from.count == into.count, "reduce of unequal slices");
  state_->schedule.reduces = true;
  state_->cut(from.count, [&](Count offset, Count count) {
    const Slice piece = into.part(offset, count);
    const Slice operand = state_->readable(from.part(offset, count));
    state_->settle(piece);
    state_->add(
        {.kind = StepKind::reduce, .from_first = from_first, .from = operand, .into = piece});
  });
}

void Builder::recv_reduce(Slice into, int peer, bool from_first) {
  state_->cut(into.count, [&](Count offset, Count count) {
    state_->add_recv_reduce(into.part(offset, count), peer, from_first);
  });
}

Schedule Builder::finish() {
  TUTTI_CHECK(!state_->finished, "finish() twice");
  state_->finished = true;
  for (const auto& copy : state_->deferred.take_all())
    if (copy.into.space == Space::out) state_->add_copy(copy.from, copy.into);
  state_->place_staging();
  state_->drop_unread_copies();
  link(state_->schedule);
  return std::move(state_->schedule);
}

}  // namespace tutti::sched
