// The checker itself under test: schedules broken on purpose, one change at a time.
//
// Each mutant changes what a schedule means, and the checker must notice it. A change that
// means nothing (an edge that others imply, an operand order that commutes) is not made.
#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "cases.h"
#include "catch.h"

using namespace tutti;
using sched::Schedule;
using sched::Slice;
using sched::Step;
using sched::StepKind;
using schedule_tests::Built;
using schedule_tests::Case;

namespace {

constexpr int kTriesEach = 12;
constexpr std::uint64_t kSeeds = 3;

using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;
using Random = std::mt19937_64;

Edges edges_of(const Schedule& schedule) {
  Edges edges;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i)
    for (std::uint32_t s = 0; s < schedule.steps[i].successor_count; ++s)
      edges.emplace(i, schedule.successors[schedule.steps[i].first_successor + s]);
  return edges;
}

void set_edges(Schedule& schedule, const Edges& edges) {
  schedule.successors.clear();
  for (Step& step : schedule.steps) step.successor_count = step.predecessors = 0;
  for (const auto& [earlier, later] : edges) {  // sorted by the earlier one
    Step& step = schedule.steps[earlier];
    if (step.successor_count++ == 0)
      step.first_successor = static_cast<std::uint32_t>(schedule.successors.size());
    schedule.successors.push_back(later);
    ++schedule.steps[later].predecessors;
  }
}

bool reaches(const Edges& edges, std::uint32_t from, std::uint32_t to) {
  if (from == to) return true;
  for (auto it = edges.lower_bound({from, 0}); it != edges.end() && it->first == from; ++it)
    if (it->second <= to && reaches(edges, it->second, to)) return true;
  return false;
}

// A random step for which `wanted` holds, of a random rank.
Step* pick(Built& built, Random& random, std::size_t& rank,
           const std::function<bool(const Step&)>& wanted) {
  for (int tries = 0; tries < 50; ++tries) {
    rank = random() % built.schedules.size();
    auto& steps = built.schedules[rank].steps;
    if (steps.empty()) continue;
    Step& step = steps[random() % steps.size()];
    if (wanted(step)) return &step;
  }
  return nullptr;
}

bool talks(const Step& step) {
  return step.kind == StepKind::send || step.kind == StepKind::recv;
}
bool any(const Step&) {
  return true;
}

// Each returns false when there was nothing to break.
using Mutation = bool (*)(Built& built, Random& random);

// What waited for the step waits for what it waited for; only its effect is gone.
bool drop_step(Built& built, Random& random) {
  std::size_t rank = 0;
  const Step* victim = pick(built, random, rank, any);
  if (victim == nullptr) return false;
  // A barrier's copies carry order alone, and the order is kept.
  if (built.contracts[rank].barrier && !talks(*victim)) return false;
  Schedule& schedule = built.schedules[rank];
  const auto gone = static_cast<std::uint32_t>(victim - schedule.steps.data());
  Edges kept;
  const Edges edges = edges_of(schedule);
  const auto renamed = [&](std::uint32_t i) { return i > gone ? i - 1 : i; };
  for (const auto& [earlier, later] : edges) {
    if (earlier != gone && later != gone) kept.emplace(renamed(earlier), renamed(later));
    if (later != gone) continue;
    for (const auto& [first, second] : edges)
      if (first == gone) kept.emplace(renamed(earlier), renamed(second));
  }
  schedule.steps.erase(schedule.steps.begin() + gone);
  set_edges(schedule, kept);
  return true;
}

bool swap_operands(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* step = pick(built, random, rank, [](const Step& s) { return s.kind == StepKind::reduce; });
  if (step == nullptr || !built.contracts[rank].ordered) return false;
  step->from_first = !step->from_first;
  return true;
}

bool change_peer(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* step = pick(built, random, rank, talks);
  if (step == nullptr) return false;
  const auto p = static_cast<std::int32_t>(built.schedules.size());
  step->peer =
      (step->peer + 1 + static_cast<std::int32_t>(random() % (built.schedules.size() - 1))) % p;
  return true;
}

bool shift_read(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* step = pick(built, random, rank, [](const Step& s) { return s.kind != StepKind::recv; });
  if (step == nullptr || built.contracts[rank].barrier) return false;
  step->from.offset += step->from.offset > 0 && random() % 2 == 0 ? -1 : 1;
  return true;
}

bool shift_write(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* step = pick(built, random, rank, [](const Step& s) { return s.kind != StepKind::send; });
  if (step == nullptr || built.contracts[rank].barrier) return false;
  step->into.offset += step->into.offset > 0 && random() % 2 == 0 ? -1 : 1;
  return true;
}

bool shorten(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* step = pick(built, random, rank, any);
  if (step == nullptr || (built.contracts[rank].barrier && !talks(*step))) return false;
  if (step->kind != StepKind::recv) --step->from.count;
  if (step->kind != StepKind::send) --step->into.count;
  return true;
}

bool drop_edge(Built& built, Random& random) {
  std::size_t rank = 0;
  const Step* step = pick(built, random, rank, [](const Step& s) { return s.successor_count > 0; });
  if (step == nullptr) return false;
  Schedule& schedule = built.schedules[rank];
  const auto earlier = static_cast<std::uint32_t>(step - schedule.steps.data());
  const auto later = schedule.successors[step->first_successor + random() % step->successor_count];
  Edges edges = edges_of(schedule);
  edges.erase({earlier, later});
  if (reaches(edges, earlier, later)) return false;
  set_edges(schedule, edges);
  return true;
}

bool swap_sends(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* one = pick(built, random, rank, [](const Step& s) { return s.kind == StepKind::send; });
  if (one == nullptr || built.contracts[rank].barrier) return false;
  for (Step& other : built.schedules[rank].steps)
    if (other.kind == StepKind::send && other.peer == one->peer && !(other.from == one->from)) {
      std::swap(one->from, other.from);
      return true;
    }
  return false;
}

bool copy_for_reduce(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* step = pick(built, random, rank, [](const Step& s) { return s.kind == StepKind::reduce; });
  if (step == nullptr) return false;
  step->kind = StepKind::copy;
  return true;
}

bool reduce_for_copy(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* step = pick(built, random, rank, [](const Step& s) { return s.kind == StepKind::copy; });
  if (step == nullptr || built.contracts[rank].barrier) return false;
  step->kind = StepKind::reduce;
  return true;
}

bool write_input(Built& built, Random& random) {
  std::size_t rank = 0;
  Step* step = pick(built, random, rank, [](const Step& s) { return s.kind != StepKind::send; });
  if (step == nullptr) return false;
  step->into.space = sched::Space::in;
  return true;
}

bool is_noticed(const Built& built) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    if (!sched::check(built.schedules, built.contracts, seed)) return true;
  return false;
}

struct Named {
  const char* name;
  Mutation mutate;
};
constexpr Named kMutations[] = {
    {"a step dropped", drop_step},          {"operands swapped", swap_operands},
    {"a wrong peer", change_peer},          {"a read shifted", shift_read},
    {"a write shifted", shift_write},       {"a step shortened", shorten},
    {"a dependency dropped", drop_edge},    {"two sends swapped", swap_sends},
    {"a copy for a fold", copy_for_reduce}, {"a fold for a copy", reduce_for_copy},
    {"input written", write_input},
};

// Cases in which every step matters: nothing empty.
std::vector<Case> cases_for(const coll::Algorithm& algorithm) {
  std::vector<Case> chosen;
  for (const int p : {5, 8})
    for (Case& c : schedule_tests::cases(algorithm, p, false)) {
      const bool has_empty = c.counts.empty() ? c.count < p && c.count != 3 : c.counts[0] != 2;
      if (has_empty && algorithm.collective != coll::Collective::barrier) continue;
      if (c.root <= 1 && c.segment != 1) chosen.push_back(std::move(c));
    }
  return chosen;
}

}  // namespace

TEST_CASE("the checker notices every schedule that is broken", "[schedule][mutants]") {
  Random random(2026);
  for (const auto& [name, mutate] : kMutations) {
    int made = 0;
    for (const auto& algorithm : coll::catalogue())
      for (const Case& c : cases_for(algorithm)) {
        const auto sound = schedule_tests::build(c);
        REQUIRE(sound);
        if (c.segment == 0 && !c.in_place) REQUIRE_FALSE(is_noticed(*sound));
        for (int tries = 0; tries < kTriesEach; ++tries) {
          Built broken = *sound;
          if (!mutate(broken, random)) continue;
          ++made;
          INFO(name << " in " << schedule_tests::text_of(c));
          CHECK(is_noticed(broken));
        }
      }
    INFO(name);
    CHECK(made > 100);
  }
}
