// The shm delegate: which calls it takes, and by which form.
#include "delegate/work.h"

namespace tutti::delegate {
ShmTeam::ShmTeam(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area,
                 const Waiting& waiting, const MemberFacts& facts)
    : Team(waiting),
      segment_(wireup.segment()),
      locals_(std::move(locals)),
      size_(static_cast<int>(locals_.size())),
      me_(me),
      area_(area),
      geometry_(geometry_of(segment_.header())),
      single_copy_(facts.single_copy),
      past_by_(locals_.size()) {
  const wireup::SegmentHeader& header = segment_.header();
  is_oversubscribed_ = header.is_oversubscribed();
  for (const int local : locals_) {
    slots_.push_back(segment_.area(area) + static_cast<std::size_t>(local) * geometry_.slot_bytes);
    if (local != locals_[static_cast<std::size_t>(me_)]) others_.emplace_back(wireup, local);
  }
  note_place(facts.place);
  // Nobody may hand the host's own area to another team.
  if (area_ == kHostArea) segment_.header().areas_used[0].fetch_or(1, std::memory_order_relaxed);
}

ShmTeam::~ShmTeam() {
  if (area_ == kHostArea) return;
  // Of the dead, too: they leave with those who outlive them.
  const std::uint64_t team =
      standing(segment_, area_, 0).team.load(std::memory_order_relaxed);  // fixed while we are in
  give_up_places_of_gone(segment_, area_);
  give_up_place(segment_, area_, locals_[static_cast<std::size_t>(me_)], team);
}

bool ShmTeam::takes(const TeamCall& call) const {
  const std::size_t table = sizeof(Count) * static_cast<std::size_t>(size_);  // uneven.cc
  if (call.uneven != nullptr && call.op == nullptr) return table <= geometry_.entry_bytes;
  // Elements with gaps between them are not copied as bytes: the gaps are the user's.
  return call.op == nullptr ||
         (call.type->is_contiguous() && call.op->kernel(*call.type) != nullptr);
}

Code ShmTeam::barrier(Work& work) {
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    publish(work.call.fingerprint);
    work.has_spoken = true;
  }
  if (const Code code = hear_all(work); code != Code::ok) return code;
  all_entered();
  return Code::ok;
}

std::unique_ptr<Team> make_shm_team(wireup::Wireup& wireup, std::vector<int> locals, int me,
                                    std::uint32_t area, const Waiting& waiting,
                                    const MemberFacts& facts) {
  return std::make_unique<ShmTeam>(wireup, std::move(locals), me, area, waiting, facts);
}

}  // namespace tutti::delegate
