// What the builder makes of textbook steps.
#include <algorithm>
#include <random>
#include <set>

#include "catch.h"
#include "sched/sched.h"
#include "sched/scratch_reads.h"

using namespace tutti::sched;

namespace {

Slice in(Count offset, Count count) {
  return {Space::in, offset, count};
}
Slice out(Count offset, Count count) {
  return {Space::out, offset, count};
}

using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;
Edges edges_of(const Schedule& schedule) {
  Edges edges;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i)
    for (std::uint32_t s = 0; s < schedule.steps[i].successor_count; ++s)
      edges.emplace(i, schedule.successors[schedule.steps[i].first_successor + s]);
  return edges;
}

std::vector<StepKind> kinds_of(const Schedule& schedule) {
  std::vector<StepKind> kinds;
  for (const Step& step : schedule.steps) kinds.push_back(step.kind);
  return kinds;
}

}  // namespace

TEST_CASE("a send waits for the receive that fills what it sends", "[sched]") {
  Builder b;
  b.recv(out(0, 4), 1);
  b.send(out(2, 2), 2);
  CHECK(edges_of(b.finish()) == Edges{{0, 1}});
}

TEST_CASE("steps on disjoint slices do not wait for each other", "[sched]") {
  Builder b;
  b.recv(out(0, 4), 1);
  b.send(out(4, 4), 2);
  b.recv(out(8, 4), 1);
  CHECK(edges_of(b.finish()).empty());
}

TEST_CASE("a write waits for the readers since the last write, and not for the writer", "[sched]") {
  Builder b;
  b.recv(out(0, 4), 1);  // 0
  b.send(out(0, 2), 2);  // 1
  b.send(out(2, 2), 3);  // 2
  b.recv(out(0, 4), 1);  // 3
  CHECK(edges_of(b.finish()) == Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}});
}

TEST_CASE("two writes without a reader keep their order", "[sched]") {
  Builder b;
  b.recv(out(0, 4), 1);
  b.recv(out(3, 4), 2);
  CHECK(edges_of(b.finish()) == Edges{{0, 1}});
}

TEST_CASE("a fold reads and writes its target", "[sched]") {
  Builder b;
  const Slice other = b.scratch(4);
  b.recv(out(0, 4), 1);        // 0
  b.recv(other, 2);            // 1
  b.reduce(other, out(0, 4));  // 2
  b.send(out(0, 4), 3);        // 3
  const Schedule schedule = b.finish();
  CHECK(edges_of(schedule) == Edges{{0, 2}, {1, 2}, {2, 3}});
  CHECK(schedule.reduces);
  CHECK(schedule.steps[2].predecessors == 2);
}

TEST_CASE("empty slices make no step", "[sched]") {
  Builder b;
  b.send(out(3, 0), 1);
  b.recv(out(3, 0), 1);
  b.copy(in(0, 0), out(0, 0));
  b.recv_reduce(out(0, 0), 1);
  CHECK(b.finish().steps.empty());
}

TEST_CASE("a copy onto itself, as in place makes it, is no step", "[sched]") {
  Builder b;
  b.copy(out(0, 4), out(0, 4));
  CHECK(b.finish().steps.empty());
}

TEST_CASE("what was only copied is sent from its origin", "[sched]") {
  Builder b;
  const Slice work = b.scratch(8);
  b.copy(in(0, 8), work);
  b.send(work.part(2, 3), 1);
  const Schedule schedule = b.finish();
  REQUIRE(kinds_of(schedule) == std::vector<StepKind>{StepKind::send});
  CHECK(schedule.steps[0].from == in(2, 3));
}

TEST_CASE("copies into scratch that nothing reads are no steps", "[sched]") {
  Builder b;
  const Slice read = b.scratch(2), copied = b.scratch(2), unread = b.scratch(2);
  b.recv(read, 1);
  b.copy(read, copied);  // only for the next one
  b.copy(copied, unread);
  b.send(read, 2);
  b.copy(read, out(0, 2));
  CHECK(kinds_of(b.finish()) == std::vector{StepKind::recv, StepKind::send, StepKind::copy});
}

TEST_CASE("a copy into scratch stays where one unit of it is sent or folded into", "[sched]") {
  for (const bool folds : {false, true}) {
    Builder b;
    const Slice read = b.scratch(2), copied = b.scratch(2);
    b.recv(read, 1);
    b.copy(read, copied);
    folds ? b.reduce(in(0, 1), copied.part(1, 1)) : b.send(copied.part(1, 1), 2);
    CHECK(kinds_of(b.finish()) ==
          std::vector{StepKind::recv, StepKind::copy, folds ? StepKind::reduce : StepKind::send});
  }
}

TEST_CASE("a copy to the result is made in the end, where nothing overwrote it", "[sched]") {
  Builder b;
  b.copy(in(0, 8), out(0, 8));
  b.recv(out(2, 3), 1);
  const Schedule schedule = b.finish();
  REQUIRE(kinds_of(schedule) ==
          std::vector<StepKind>{StepKind::recv, StepKind::copy, StepKind::copy});
  CHECK(schedule.steps[1].into == out(0, 2));
  CHECK(schedule.steps[2].from == in(5, 3));
  CHECK(schedule.steps[2].into == out(5, 3));
}

TEST_CASE("the first fold lands in place with the origin as operand and order kept", "[sched]") {
  Builder b;
  b.copy(in(0, 4), out(0, 4));
  b.recv_reduce(out(0, 4), 1, true);
  const Schedule schedule = b.finish();
  REQUIRE(kinds_of(schedule) == std::vector<StepKind>{StepKind::recv, StepKind::reduce});
  CHECK(schedule.scratch == 0);
  CHECK(schedule.steps[0].into == out(0, 4));
  CHECK(schedule.steps[1].from == in(0, 4));
  CHECK_FALSE(schedule.steps[1].from_first);  // received op own
}

TEST_CASE("a later fold is staged in scratch", "[sched]") {
  Builder b;
  b.recv_reduce(out(0, 4), 1, false);
  b.recv_reduce(out(0, 4), 2, false);
  const Schedule schedule = b.finish();
  REQUIRE(kinds_of(schedule) == std::vector<StepKind>{StepKind::recv, StepKind::reduce,
                                                      StepKind::recv, StepKind::reduce});
  CHECK(schedule.scratch == 8);  // short messages: both receives may be posted at once
  CHECK(edges_of(schedule) == Edges{{0, 1}, {1, 3}, {2, 3}});
}

TEST_CASE("staging of long messages is shared, and reuse waits for the fold", "[sched]") {
  constexpr Count kLong = 100000;
  Builder b;
  for (int peer = 1; peer <= 5; ++peer) b.recv_reduce(out(0, kLong), peer, false);
  const Schedule schedule = b.finish();
  CHECK(schedule.scratch == 2 * kLong);
  CHECK(edges_of(schedule).count({1, 4}) == 1);  // third receive after the first fold
}

TEST_CASE("long messages are cut and forwarded segment by segment", "[sched]") {
  Builder b(4);
  b.recv(out(0, 10), 1);
  b.send(out(0, 10), 2);
  const Schedule schedule = b.finish();
  REQUIRE(schedule.steps.size() == 6);
  CHECK(schedule.steps[2].into == out(8, 2));
  CHECK(schedule.steps[5].from == out(8, 2));
  CHECK(edges_of(schedule) == Edges{{0, 3}, {1, 4}, {2, 5}});
}

TEST_CASE("a schedule of many blocks has fewer than two edges a step", "[sched]") {
  constexpr int kBlocks = 1000;
  Builder b;
  b.copy(in(0, kBlocks), out(0, kBlocks));
  for (int i = 0; i < kBlocks; ++i) {
    b.send(out(i, 1), 1);
    b.recv_reduce(out((i + 1) % kBlocks, 1), 2);
  }
  const Schedule schedule = b.finish();
  CHECK(schedule.steps.size() >= 3 * kBlocks);
  CHECK(schedule.successors.size() < 2 * schedule.steps.size());
}

TEST_CASE("units of scratch that are read are known, however slices overlap", "[sched]") {
  std::mt19937 random(5);
  const auto slice = [&random] {
    const auto space = random() % 8 == 0 ? Space::out : Space::scratch;
    return Slice{space, static_cast<Count>(random() % 60), static_cast<Count>(random() % 6)};
  };
  for (int run = 0; run < 200; ++run) {
    ScratchReads reads;
    std::vector<bool> seen(70);
    for (int step = 0; step < 20; ++step) {
      const Slice added = slice(), asked{Space::scratch, slice().offset, slice().count};
      const auto first = seen.begin() + asked.offset, last = first + asked.count;
      REQUIRE(reads.meet(asked) == (std::find(first, last, true) != last));
      reads.add(added);
      if (added.space != Space::scratch) continue;
      for (Count i = 0; i < added.count; ++i)
        seen[static_cast<std::size_t>(added.offset + i)] = true;
    }
  }
}
