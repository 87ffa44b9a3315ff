// The job segments of this host: one for each of the MPI programs that its ranks run one after
// another (`sh -c './a; ./b'`). What neighbours know of a rank's process cannot begin again, so the
// next program of every rank meets in a fresh segment.
//
// Owner: Ranks. A segment is made when a rank of this host, or the address of another host's rank,
// first needs it, and dropped when every rank of this host that lives is in a later one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "wireup/segment.h"

namespace tutti::launch::daemon {

class Generations {
 public:
  // Makes the first. `facts.key` is copied.
  Result<void> open(wireup::JobFacts facts);
  bool is_open() const { return !segments_.empty(); }

  // Errors: no room for one more, or a number far beyond every rank's.
  Result<const wireup::Segment*> get(std::uint32_t generation);
  // Null: it was dropped, or never made.
  const wireup::Segment* find(std::uint32_t generation) const;
  // No rank of this host that lives is in one below any more.
  void drop_below(std::uint32_t generation);

  Result<void> publish(std::uint32_t generation, int rank, std::string_view address);
  // The rank's process has ended, and had finalized in so many. `wakes`: who waits is woken.
  void ended(int rank, std::uint32_t finalized, bool wakes);
  void abort();

 private:
  void tell_end(const wireup::Segment& segment, std::uint32_t generation, int rank, bool wakes);

  wireup::JobFacts facts_;
  std::array<std::uint8_t, sizeof(wireup::SegmentFacts::job_key)> key_{};
  std::map<std::uint32_t, wireup::Segment> segments_;
  std::vector<std::int64_t> finalized_in_;  // by rank of the job; -1: its process lives
  bool aborted_ = false;
};

}  // namespace tutti::launch::daemon
