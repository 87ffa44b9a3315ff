// Interval bookkeeping of put-off copies.
#include "sched/deferred.h"

#include <algorithm>

namespace tutti::sched {

void Deferred::add(Slice from, Slice into) {
  pieces_[{into.space, into.offset}] = Piece{into.count, from};
}

std::optional<Slice> Deferred::origin(const Slice& slice) const {
  auto it = pieces_.upper_bound({slice.space, slice.offset});
  if (it == pieces_.begin()) return std::nullopt;
  --it;
  const auto& [key, piece] = *it;
  const Count skip = slice.offset - key.second;
  if (key.first != slice.space || skip + slice.count > piece.count) return std::nullopt;
  return piece.from.part(skip, slice.count);
}

std::vector<Deferred::Copy> Deferred::take(const Slice& slice) {
  std::vector<Copy> taken;
  const Count end = slice.offset + slice.count;
  auto it = pieces_.upper_bound({slice.space, slice.offset});
  if (it != pieces_.begin()) --it;
  while (it != pieces_.end() && it->first < Key{slice.space, end}) {
    const auto [key, piece] = *it;
    const Count from = std::max(slice.offset, key.second);
    const Count to = std::min(end, key.second + piece.count);
    if (key.first != slice.space || from >= to) {
      ++it;
      continue;
    }
    it = pieces_.erase(it);
    taken.push_back({piece.from.part(from - key.second, to - from), {key.first, from, to - from}});
    if (from > key.second)
      pieces_[key] = Piece{from - key.second, piece.from.part(0, from - key.second)};
    const Count rest = key.second + piece.count - to;
    if (rest > 0) pieces_[{key.first, to}] = Piece{rest, piece.from.part(to - key.second, rest)};
  }
  return taken;
}

std::vector<Deferred::Copy> Deferred::take_all() {
  std::vector<Copy> taken;
  for (const auto& [key, piece] : pieces_)
    taken.push_back({piece.from, {key.first, key.second, piece.count}});
  pieces_.clear();
  return taken;
}

}  // namespace tutti::sched
