// Areas are taken by setting their bit in the segment's header and given back when the last
// member's place is given up, so that nobody who is still reading loses his memory to a new team.
#include "delegate/shm/area.h"

#include <new>

#include "delegate/delegate.h"

namespace tutti::delegate {
namespace {

constexpr std::uint32_t kBits = 64;

std::uint64_t bit_of(std::uint32_t area) {
  return std::uint64_t{1} << area % kBits;
}

bool try_take(wireup::SegmentHeader& header, std::uint32_t area) {
  // acq_rel: what its last team did to the area happens before what we do.
  return (header.areas_used[area / kBits].fetch_or(bit_of(area), std::memory_order_acq_rel) &
          bit_of(area)) == 0;
}

std::optional<std::uint32_t> find_free(wireup::SegmentHeader& header) {
  for (std::uint32_t area = 0; area < header.area_count; ++area)
    if (area != kHostArea && try_take(header, area)) return area;
  return std::nullopt;
}

// relaxed: the members learn of the area by messages sent after this; others look at `team` first.
void clear(const wireup::Segment& segment, std::uint32_t area, const std::vector<int>& locals) {
  const AreaGeometry geometry = geometry_of(segment.header());
  Standing& whole = standing(segment, area, 0);
  const std::uint64_t team = whole.team.load(std::memory_order_relaxed) + 1;
  for (std::size_t i = 0; i < locals.size(); ++i) {
    std::byte* const slot =
        segment.area(area) + static_cast<std::size_t>(locals[i]) * geometry.slot_bytes;
    new (slot + geometry.control_at()) MemberCounters{};
    for (std::uint64_t e = 0; e < kEntries; ++e)
      new (slot + geometry.entries_at() + e * geometry.entry_stride()) AreaEntry{};
    Standing& member = standing(segment, area, locals[i]);
    member.next.store(i + 1 < locals.size() ? locals[i + 1] : -1, std::memory_order_relaxed);
    member.place.store(place_in(team), std::memory_order_relaxed);
  }
  whole.first.store(locals[0], std::memory_order_relaxed);
  whole.members.store(static_cast<std::int32_t>(locals.size()), std::memory_order_relaxed);
  whole.team.store(team, std::memory_order_release);  // pairs with give_up_places_of_gone()
}

}  // namespace

Standing& standing(const wireup::Segment& segment, std::uint32_t area, int local) {
  return *reinterpret_cast<Standing*>(segment.area(area) + static_cast<std::size_t>(local) *
                                                               segment.header().area_slot_bytes);
}

void give_up_place(const wireup::Segment& segment, std::uint32_t area, int local,
                   std::uint64_t team) {
  std::uint64_t place = place_in(team);
  // acq_rel: the last one passes on what all did to the area.
  if (!standing(segment, area, local)
           .place.compare_exchange_strong(place, 0, std::memory_order_acq_rel,
                                          std::memory_order_relaxed))
    return;
  Standing& whole = standing(segment, area, 0);
  if (whole.members.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  segment.header().areas_used[area / kBits].fetch_and(~bit_of(area), std::memory_order_acq_rel);
}

void give_up_places_of_gone(const wireup::Segment& segment, std::uint32_t area) {
  const wireup::SegmentHeader& header = segment.header();
  Standing& whole = standing(segment, area, 0);
  const std::uint64_t team = whole.team.load(std::memory_order_acquire);  // pairs with clear()
  const auto ranks = static_cast<std::int32_t>(header.local_ranks);
  // relaxed: a walk through a team that ends meanwhile finds none of its places.
  std::int32_t local = team == 0 ? -1 : whole.first.load(std::memory_order_relaxed);
  for (std::int32_t steps = 0; steps < ranks && local >= 0 && local < ranks; ++steps) {
    const auto rank =
        static_cast<std::uint32_t>(segment.rank_of(static_cast<std::uint32_t>(local)));
    // acquire: set by the daemon when the process has ended.
    if (segment.rank(rank).gone.load(std::memory_order_acquire) != 0)
      give_up_place(segment, area, local, team);
    local = standing(segment, area, local).next.load(std::memory_order_relaxed);
  }
}

// Where none is free, teams whose last members died give theirs.
std::optional<std::uint32_t> take_area(wireup::Wireup& wireup, const std::vector<int>& locals) {
  const wireup::Segment& segment = wireup.segment();
  wireup::SegmentHeader& header = segment.header();
  if (!geometry_of(header).has_room_for(locals.size())) return std::nullopt;
  std::optional<std::uint32_t> area = find_free(header);
  if (!area) {
    for (std::uint32_t each = 0; each < header.area_count; ++each)
      if (each != kHostArea) give_up_places_of_gone(segment, each);
    area = find_free(header);
  }
  if (area) clear(segment, *area, locals);
  return area;
}

std::optional<std::uint32_t> host_area(wireup::Wireup& wireup) {
  const wireup::SegmentFacts& facts = wireup.segment().header();
  if (!geometry_of(facts).has_room_for(facts.local_ranks)) return std::nullopt;
  return kHostArea;
}

}  // namespace tutti::delegate
