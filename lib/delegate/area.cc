// Areas are taken by setting their bit in the segment's header and given back by the last
// member that leaves, so that nobody who is still reading loses his memory to a new team.
#include "delegate/area.h"

#include <new>

#include "delegate/delegate.h"

namespace tutti::delegate {
namespace {

constexpr std::uint32_t kBits = 64;

}  // namespace

std::optional<std::uint32_t> take_area(wireup::Wireup& wireup, const std::vector<int>& locals) {
  const wireup::Segment& segment = wireup.segment();
  wireup::SegmentHeader& header = segment.header();
  const Geometry geometry = geometry_of(header);
  if (!geometry.has_room_for(locals.size())) return std::nullopt;
  for (std::uint32_t area = 0; area < header.area_count; ++area) {
    if (area == kHostArea) continue;
    // acq_rel: what its last team did to the area happens before what we do.
    const std::uint64_t bit = std::uint64_t{1} << area % kBits;
    if (header.areas_used[area / kBits].fetch_or(bit, std::memory_order_acq_rel) & bit) continue;
    for (const int local : locals) {
      std::byte* const slot =
          segment.area(area) + static_cast<std::size_t>(local) * geometry.slot_bytes;
      new (slot) Control{};
      for (std::uint64_t e = 0; e < kEntries; ++e)
        new (slot + geometry.entries_at() + e * geometry.entry_stride()) Entry{};
    }
    auto* const control = reinterpret_cast<Control*>(
        segment.area(area) + static_cast<std::size_t>(locals[0]) * geometry.slot_bytes);
    // relaxed: the members learn of the area by messages sent after this.
    control->members.store(static_cast<std::int32_t>(locals.size()), std::memory_order_relaxed);
    return area;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> host_area(wireup::Wireup& wireup) {
  const wireup::SegmentFacts& facts = wireup.segment().header();
  if (!geometry_of(facts).has_room_for(facts.local_ranks)) return std::nullopt;
  return kHostArea;
}

}  // namespace tutti::delegate
