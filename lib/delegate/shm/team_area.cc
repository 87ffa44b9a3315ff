// A member comes to its team's area, and leaves it.
#include "delegate/shm/team_area.h"

#include "delegate/delegate.h"

namespace tutti::delegate {

TeamArea::TeamArea(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area)
    : segment_(wireup.segment()),
      locals_(std::move(locals)),
      size_(static_cast<int>(locals_.size())),
      me_(me),
      area_(area),
      geometry_(geometry_of(segment_.header())),
      is_oversubscribed_(segment_.header().is_oversubscribed()) {
  for (const int local : locals_) {
    slots_.push_back(segment_.area(area) + static_cast<std::size_t>(local) * geometry_.slot_bytes);
    if (local != locals_[static_cast<std::size_t>(me_)]) others_.emplace_back(wireup, local);
  }
  // Nobody may hand the host's own area to another team.
  if (area_ == kHostArea) segment_.header().areas_used[0].fetch_or(1, std::memory_order_relaxed);
}

TeamArea::~TeamArea() {
  if (area_ == kHostArea) return;
  // Of the dead, too: they leave with those who outlive them.
  const std::uint64_t team =
      standing(segment_, area_, 0).team.load(std::memory_order_relaxed);  // fixed while we are in
  give_up_places_of_gone(segment_, area_);
  give_up_place(segment_, area_, locals_[static_cast<std::size_t>(me_)], team);
}

std::uint32_t TeamArea::local_of(int member) const {
  return static_cast<std::uint32_t>(locals_[static_cast<std::size_t>(member)]);
}

int TeamArea::job_rank(int member) const {
  return segment_.rank_of(local_of(member));
}

bool TeamArea::is_gone(int member) const {
  const auto rank = static_cast<std::uint32_t>(job_rank(member));
  // acquire: set by the daemon when the process has ended.
  return segment_.rank(rank).gone.load(std::memory_order_acquire) != 0;
}

}  // namespace tutti::delegate
