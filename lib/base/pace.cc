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

// How long that took, in ns, until all was stored: else short copies seem to take nothing.
std::int64_t timed_copy(Stores kind, std::byte* to, const std::byte* from, std::size_t bytes) {
  drain_stores();
  const std::int64_t began = now_ns();
  copy_by(kind, to, from, bytes);
  drain_stores();
  return now_ns() - began;
}

}  // namespace

void copy_by(Stores kind, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (kind == Stores::streaming)
    stream_copy_anywhere(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

void Pace::copy_judged(Way way, std::byte* to, const std::byte* from, std::size_t bytes,
                       std::size_t whole) {
  if (!way.is_timed) return copy_by(way.stores, to, from, bytes);
  took(whole, bytes, timed_copy(way.stores, to, from, bytes));
}

void Pace::end_stretch(Size& size, const std::atomic<std::uint32_t>* read) {
  size.left = kStretch;
  if (size.is_asked) {
    const std::uint32_t mine = size.written[index(size.stores)];
    const std::uint32_t theirs = read[index(size.stores)].load(std::memory_order_relaxed);
    if (theirs == 0) return;  // the reader is behind: the same once more
    size.judge.took(static_cast<unsigned>(size.stores), std::max(mine, theirs));
  }
  size.stores = static_cast<Stores>(size.judge.next());
  size.is_asked = size.judge.asks();
}

}  // namespace tutti
