// stats.cc: what samples of a noisy machine say: the median, and how far they spread.
#include <algorithm>
#include <cmath>

#include "harness.h"

namespace bench {

namespace {

// Between neighbours the quantile is interpolated.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double rest = place - std::floor(place);
  return sorted[below] * (1 - rest) + sorted[above] * rest;
}

}  // namespace

Statistics summarise(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  Statistics made;
  made.median = quantile(samples, 0.5);
  made.p5 = quantile(samples, 0.05);
  made.p95 = quantile(samples, 0.95);
  made.spread = made.median > 0 ? (made.p95 - made.p5) / made.median : 0;
  return made;
}

}  // namespace bench
