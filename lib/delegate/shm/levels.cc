// Plans of levels: those that the machine has are tried in every combination, the model compares.
#include "delegate/shm/levels.h"

#include <algorithm>
#include <map>

namespace tutti::delegate {
namespace {

// From the inside out.
constexpr int model::BoundAt::*kKinds[] = {&model::BoundAt::cache, &model::BoundAt::numa,
                                           &model::BoundAt::package};
constexpr unsigned kCombinations = 1U << std::size(kKinds);
constexpr double kMostOfFlat = 0.9;

// One level for each kind in `kinds`: those that are still heard by everybody speak to the first
// of them at the same place.
std::vector<int> tree_of(std::span<const model::BoundAt> places, unsigned kinds) {
  std::vector<int> above(places.size(), -1);
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
    if ((kinds >> kind & 1U) == 0) continue;
    std::map<int, int> first;
    for (std::size_t m = 0; m < places.size(); ++m) {
      if (above[m] >= 0) continue;
      const auto [at, is_first] = first.try_emplace(places[m].*kKinds[kind], static_cast<int>(m));
      if (!is_first) above[m] = at->second;
    }
  }
  return above;
}

}  // namespace

std::vector<int> plan_levels(std::span<const model::BoundAt> places) {
  std::vector<int> best = tree_of(places, 0);
  if (!std::ranges::all_of(places, &model::BoundAt::is_known)) return best;
  double least = kMostOfFlat * model::meeting_us(places, best);
  for (unsigned kinds = 1; kinds < kCombinations; ++kinds) {
    std::vector<int> above = tree_of(places, kinds);
    const double us = model::meeting_us(places, above);
    if (us >= least) continue;
    least = us;
    best = std::move(above);
  }
  return best;
}

Levels levels_of(std::span<const int> above, int me) {
  Levels levels;
  for (int m = 0; m < static_cast<int>(above.size()); ++m) {
    const int to = above[static_cast<std::size_t>(m)];
    if (to < 0) levels.tops.push_back(m);
    if (to == me) levels.below.push_back(m);
  }
  return levels;
}

}  // namespace tutti::delegate
