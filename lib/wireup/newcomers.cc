// Ranks by their number in this process: the segment's first, then group after group.
#include "wireup/newcomers.h"

#include "base/check.h"
#include "wireup/wireup.h"

namespace tutti::wireup {

int Wireup::add(std::shared_ptr<Newcomers> group) {
  const int first = known();
  for (int which = 0; which < group->size(); ++which)
    TUTTI_CHECK(group->host(which) >= static_cast<int>(segment().header().hosts),
                "a newcomer on a host of the segment");
  known_ = first + group->size();
  groups_.push_back({first, std::move(group)});
  return first;
}

// The last group that begins at or before this rank.
const Wireup::Group& Wireup::group_of(int rank) const {
  TUTTI_CHECK(rank >= size() && rank < known(), "a rank that nobody knows");
  std::size_t at = groups_.size() - 1;
  while (groups_[at].first > rank) --at;
  return groups_[at];
}

int Wireup::host_of_newcomer(int rank) const {
  const Group& group = group_of(rank);
  return group.ranks->host(rank - group.first);
}

bool Wireup::is_newcomer_gone(int rank) const {
  const Group& group = group_of(rank);
  return group.ranks->is_gone(rank - group.first);
}

std::string Wireup::host_name_of(int rank) const {
  if (is_first(rank)) return segment().host(static_cast<std::uint32_t>(host_of(rank))).name;
  const Group& group = group_of(rank);
  return group.ranks->host_name(rank - group.first);
}

std::string Wireup::name_of(int rank) const {
  return "rank " + std::to_string(rank) + " on host " + host_name_of(rank);
}

std::string Wireup::end_of(int rank) const {
  return name_of(rank) + " ended without MPI_Finalize";
}

Result<BlobView> Wireup::address_of(int rank) {
  if (is_first(rank)) return get(rank);
  const Group& group = group_of(rank);
  return group.ranks->address(rank - group.first);
}

}  // namespace tutti::wireup
