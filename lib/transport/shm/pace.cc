// The end of a stretch: what it cost, and which kind the next one is of.
#include "transport/shm/pace.h"

#include <utility>

namespace tutti::transport::shm {
namespace {

// A trial of what is g times slower comes after so many stretches, times g squared.
constexpr double kTryAgainAfter = 64;
constexpr double kTryAgainAtMost = 1024;

std::size_t index(Stores kind) {
  return static_cast<std::size_t>(kind);
}
Stores other(Stores kind) {
  return kind == Stores::ordinary ? Stores::streaming : Stores::ordinary;
}

}  // namespace

void Pace::end_stretch(Size& size, const std::atomic<std::uint32_t>* read) {
  size.left = kStretch;
  const std::uint32_t mine = std::exchange(size.written, std::numeric_limits<std::uint32_t>::max());
  const std::uint32_t theirs = read[index(size.stores)].load(std::memory_order_relaxed);
  if (theirs == 0) return;  // the reader is behind: the same once more
  const double now = std::max(mine, theirs);
  double& known = size.cost[index(size.stores)];
  known = known == 0 || now < known ? now : known * 0.75 + now * 0.25;

  if (size.cost[index(other(size.stores))] == 0) {
    size.stores = other(size.stores);
    return;
  }
  const bool streams = size.cost[index(Stores::streaming)] < size.cost[index(Stores::ordinary)];
  const Stores better = streams ? Stores::streaming : Stores::ordinary;
  const double gain = size.cost[index(other(better))] / size.cost[index(better)];
  if (size.tries || size.stretches == 0) {
    size.tries = !size.tries;
    size.stretches = static_cast<int>(std::min(kTryAgainAfter * gain * gain, kTryAgainAtMost));
  } else {
    --size.stretches;
  }
  size.stores = size.tries ? other(better) : better;
}

}  // namespace tutti::transport::shm
