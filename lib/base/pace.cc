// The end of a stretch: what it cost, and which kind the next one is of.
#include "base/pace.h"

#include <cstring>

#include "base/clock.h"
#include "base/stream_copy.h"

namespace tutti {
namespace {

std::size_t index(Stores kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

void Pace::copy_judged(Way way, std::byte* to, const std::byte* from, std::size_t bytes,
                       std::size_t whole) {
  std::int64_t began = 0;
  if (way.is_timed) {
    drain_stores();
    began = now_ns();
  }
  if (way.stores == Stores::streaming)
    stream_copy(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
  if (!way.is_timed) return;
  drain_stores();  // else short copies seem to take nothing
  took(whole, bytes, now_ns() - began);
}

void Pace::end_stretch(Size& size, const std::atomic<std::uint32_t>* read) {
  size.left = kStretch;
  const std::uint32_t mine = size.written[index(size.stores)];
  const std::uint32_t theirs = read[index(size.stores)].load(std::memory_order_relaxed);
  if (theirs == 0) return;  // the reader is behind: the same once more
  size.judge.took(static_cast<unsigned>(size.stores), std::max(mine, theirs));
  size.stores = static_cast<Stores>(size.judge.next());
}

}  // namespace tutti
