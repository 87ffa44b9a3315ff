// gone_scan: finds out from the job segment which peers ended without finalizing.
//
// Daemons set RankRecord::gone, or whoever looks where there are none. Looking costs a cache line
// per rank, so it is done only when the waiter asked for it (Transport::look_around) and a bounded
// number of ranks at a time.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/result.h"
#include "wireup/wireup.h"

namespace tutti::transport {

class GoneScan {
 public:
  explicit GoneScan(const wireup::Wireup& wireup) : wireup_(wireup) {}

  void ask() { asked_ = true; }
  bool is_asked() const { return asked_; }

  // Calls found(rank) for ranks that are gone and not reported yet, and for which reaches(rank)
  // holds. `found` returns whether it reported the rank; if not it is asked again later.
  template <class Reaches, class Found>
  void look(Reaches&& reaches, Found&& found) {
    asked_ = false;
    wireup_.look_for_ends();
    const int size = wireup_.known();
    for (int left = std::min(size, kRanksPerLook); left > 0; --left) {
      const int rank = next_;
      next_ = next_ + 1 == size ? 0 : next_ + 1;
      if (!wireup_.is_gone(rank)) continue;
      if (rank == wireup_.rank() || is_reported(rank) || !reaches(rank)) continue;
      if (found(rank)) mark(rank);
    }
  }

  // False: it was marked before.
  bool mark(int rank) {
    if (is_reported(rank)) return false;
    const auto known = static_cast<std::size_t>(wireup_.known());
    if (reported_.size() < known) reported_.resize(known);
    reported_[static_cast<std::size_t>(rank)] = true;
    return true;
  }
  bool is_reported(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at < reported_.size() && reported_[at];
  }

  Error error_for(int rank) const { return Error{Code::proc_aborted, wireup_.end_of(rank)}; }
  // Of one whose frame the sink did not believe.
  Error no_frame_from(int rank) const {
    return Error{Code::other, wireup_.name_of(rank) +
                                  " sent what is no frame; memory was overwritten there or here, "
                                  "or the network changed it"};
  }

 private:
  static constexpr int kRanksPerLook = 1024;
  const wireup::Wireup& wireup_;
  std::vector<bool> reported_;  // sized when the first rank is gone, and grown when others came
  int next_ = 0;
  bool asked_ = false;
};

}  // namespace tutti::transport
