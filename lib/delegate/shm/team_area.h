// TeamArea: a team's area as one of its members sees it: who they are, and where each one's
// entries, counters and chunks lie.
#pragma once

#include <atomic>
#include <vector>

#include "delegate/shm/area.h"
#include "transport/transport.h"
#include "wireup/wireup.h"

namespace tutti::delegate {

class TeamArea {
 public:
  TeamArea(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area);
  ~TeamArea();  // this member's place is given up
  TeamArea(const TeamArea&) = delete;
  TeamArea& operator=(const TeamArea&) = delete;

  int size() const { return size_; }
  int me() const { return me_; }
  std::uint32_t local_of(int member) const;
  int job_rank(int member) const;
  const wireup::Segment& segment() const { return segment_; }
  const AreaGeometry& geometry() const { return geometry_; }
  bool is_oversubscribed() const { return is_oversubscribed_; }  // more ranks than cores here

  // The entries of that call are used from now on.
  void turn_to(std::uint64_t call) {
    entry_at_ = geometry_.entries_at() + call % kEntries * geometry_.entry_stride();
    is_swapped_ = swapped_ >> call % kEntries & 1;
  }
  // Of two members whose entries have changed hands, in the other's slot.
  AreaEntry& entry(int member) const {
    const std::size_t slot = static_cast<std::size_t>(member) ^ is_swapped_;
    return *reinterpret_cast<AreaEntry*>(slots_[slot] + entry_at_);
  }
  // From the call on that uses them again; both must do so.
  void swap_entries(std::uint64_t call) {
    if (size_ == 2) swapped_ ^= std::size_t{1} << call % kEntries;
  }
  MemberCounters& control(int member) const {
    return *reinterpret_cast<MemberCounters*>(slots_[static_cast<std::size_t>(member)] +
                                              geometry_.control_at());
  }
  std::byte* chunks_of(int member) const {
    return slots_[static_cast<std::size_t>(member)] + geometry_.chunks_at();
  }

  void wake_others() const {
    for (const transport::Waker& other : others_) other.nudge();
  }
  bool is_gone(int member) const;
  bool has_given_up(int member) const {
    // acquire: pairs with Faults::break_off(); why was written before.
    return control(member).broken.load(std::memory_order_acquire) != 0;
  }

 private:
  const wireup::Segment& segment_;
  const std::vector<int> locals_;
  const int size_, me_;
  const std::uint32_t area_;
  const AreaGeometry geometry_;
  const bool is_oversubscribed_;
  std::vector<std::byte*> slots_;  // by member
  std::size_t swapped_ = 0;        // entries, a bit each
  std::size_t entry_at_ = 0, is_swapped_ = 0;
  std::vector<transport::Waker> others_;
};

}  // namespace tutti::delegate
