// The shm delegate: which calls it takes, and who serves them.
#include "delegate/team.h"

namespace tutti::delegate {
namespace {

constexpr std::uint32_t kBits = 64;

}  // namespace

ShmTeam::ShmTeam(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area,
                 const Waiting& waiting)
    : wireup_(wireup),
      segment_(wireup.segment()),
      locals_(std::move(locals)),
      size_(static_cast<int>(locals_.size())),
      me_(me),
      area_(area),
      waiting_(waiting),
      geometry_(geometry_of(segment_.header())) {
  const wireup::SegmentHeader& header = segment_.header();
  is_oversubscribed_ = header.is_oversubscribed();
  for (const int local : locals_)
    slots_.push_back(segment_.area(area) + static_cast<std::size_t>(local) * geometry_.slot_bytes);
  // Nobody may hand the host's own area to another team.
  if (area_ == kHostArea) segment_.header().areas_used[0].fetch_or(1, std::memory_order_relaxed);
}

ShmTeam::~ShmTeam() {
  if (area_ == kHostArea) return;
  // acq_rel: the last one to leave passes on what all did to the area.
  if (control(0).members.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::uint64_t bit = std::uint64_t{1} << area_ % kBits;
  segment_.header().areas_used[area_ / kBits].fetch_and(~bit, std::memory_order_acq_rel);
}

bool ShmTeam::takes(const Call& call) const {
  // Elements with gaps between them are not copied as bytes: the gaps are the user's.
  return call.op == nullptr ||
         (call.type->is_contiguous() && call.op->kernel(*call.type) != nullptr);
}

Code ShmTeam::run(const Call& call) {
  if (broken_ != Code::ok) return broken_;
  ++number_;
  broken_ = serve(call);
  if (broken_ != Code::ok) [[unlikely]] {
    control(me_).broken.store(1, std::memory_order_release);  // pairs with lost_member()
    wake_others();
  }
  return broken_;
}

Code ShmTeam::serve(const Call& call) {
  if (call.collective == coll::Collective::barrier) return barrier(call);
  return call.op != nullptr ? fold(call) : move(call);
}

Code ShmTeam::barrier(const Call& call) {
  if (const Code code = claim_entry(); code != Code::ok) return code;
  publish(call.fingerprint);
  const Code code = hear_all(call.fingerprint);
  all_entered();
  return code;
}

std::unique_ptr<Team> make_shm_team(wireup::Wireup& wireup, std::vector<int> locals, int me,
                                    std::uint32_t area, const Waiting& waiting) {
  return std::make_unique<ShmTeam>(wireup, std::move(locals), me, area, waiting);
}

}  // namespace tutti::delegate
