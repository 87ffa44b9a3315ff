// overlap.cc: whether two messages in memory have a byte in common.
//
// First their spans: mostly these are apart, and nothing more is looked at. Where they are not, the
// runs of the message that has fewer become a sorted list, in which each run of the other is looked
// up: two messages may well lie in each other's gaps.
#include <algorithm>
#include <cstdint>

#include "types/types.h"

namespace tutti::types {
namespace {

struct AddressRange {  // of addresses; empty when begin == end
  std::uintptr_t begin = 0, end = 0;
  bool is_empty() const { return begin == end; }
  bool meets(const AddressRange& other) const { return begin < other.end && other.begin < end; }
};

// From the first byte to behind the last; empty for nothing, and for what no memory can hold.
AddressRange span_of(const Buffer& buffer) {
  const auto at = reinterpret_cast<std::uintptr_t>(buffer.data);
  if (buffer.bytes <= 0) return {};
  if (buffer.type == nullptr) return {at, at + static_cast<std::uintptr_t>(buffer.bytes)};
  const Datatype& type = *buffer.type;
  Count last = 0;  // element's place, from the first one's
  if (__builtin_mul_overflow(buffer.count - 1, type.extent(), &last)) return {};
  const Count low = type.true_lower_bound() + std::min<Count>(last, 0);
  const Count high = type.true_lower_bound() + type.true_extent() + std::max<Count>(last, 0);
  return {at + static_cast<std::uintptr_t>(low), at + static_cast<std::uintptr_t>(high)};
}

AddressRange span_of(std::span<const Buffer> message) {
  AddressRange all;
  for (const Buffer& one : message) {
    const AddressRange range = span_of(one);
    if (range.is_empty()) continue;
    all = all.is_empty()
              ? range
              : AddressRange{std::min(all.begin, range.begin), std::max(all.end, range.end)};
  }
  return all;
}

// Hands each run of the message that meets `where` to `look`, until that says true.
template <class Look>
bool any_run(std::span<const Buffer> message, const AddressRange& where, const Look& look) {
  Piece found[256];
  for (const Buffer& one : message) {
    if (!span_of(one).meets(where)) continue;
    Count bytes = 0;
    for (Count done = 0; done < one.bytes; done += bytes) {
      const std::size_t n = pieces(one, done, found, &bytes);
      if (bytes == 0) break;
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = reinterpret_cast<std::uintptr_t>(found[i].data);
        const AddressRange run{at, at + found[i].bytes};
        if (run.meets(where) && look(run)) return true;
      }
    }
  }
  return false;
}

// In order of addresses; those that touch are one.
std::vector<AddressRange> runs_of(std::span<const Buffer> message, const AddressRange& where) {
  std::vector<AddressRange> runs;
  any_run(message, where, [&](const AddressRange& run) {
    if (!runs.empty() && runs.back().end == run.begin)
      runs.back().end = run.end;
    else
      runs.push_back(run);
    return false;
  });
  std::sort(runs.begin(), runs.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  std::size_t used = 0;
  for (const AddressRange& run : runs) {
    if (used > 0 && run.begin <= runs[used - 1].end)
      runs[used - 1].end = std::max(runs[used - 1].end, run.end);
    else
      runs[used++] = run;
  }
  runs.resize(used);
  return runs;
}

// As many runs at most, but for a factor: bytes where they may be single ones.
Count cost_of(std::span<const Buffer> message) {
  Count cost = 0;
  for (const Buffer& one : message) cost += one.is_one_run() ? 1 : one.bytes;
  return cost;
}

}  // namespace

bool overlap(std::span<const Buffer> a, std::span<const Buffer> b) {
  const AddressRange over_a = span_of(a), over_b = span_of(b);
  if (!over_a.meets(over_b)) return false;
  const AddressRange both{std::max(over_a.begin, over_b.begin), std::min(over_a.end, over_b.end)};
  const bool a_is_listed = cost_of(a) <= cost_of(b);
  const std::vector<AddressRange> listed = runs_of(a_is_listed ? a : b, both);
  return any_run(a_is_listed ? b : a, both, [&](const AddressRange& run) {
    const auto behind =
        std::upper_bound(listed.begin(), listed.end(), run.begin,
                         [](std::uintptr_t at, const AddressRange& one) { return at < one.end; });
    return behind != listed.end() && behind->meets(run);
  });
}

}  // namespace tutti::types
