// RankTeam: an ordered set of ranks that an algorithm works on, and where they live.
//
// Members are known by their index, 0 .. size - 1; at(i) is the rank the schedule's steps name.
// A communicator's own team is the identity and costs nothing to make; subsets (the ranks of a
// host, the leaders) carry a list. Private to coll.
#pragma once

#include <span>
#include <vector>

#include "coll/coll.h"

namespace tutti::coll {

class RankTeam {
 public:
  explicit RankTeam(const RankCall& call)
      : size_(call.size), rank_(call.rank), host_of_(call.host_of) {}
  // `members` in team order; `rank` is the caller's index among them.
  RankTeam(std::vector<int> members, int rank)
      : size_(static_cast<int>(members.size())), rank_(rank), members_(std::move(members)) {}

  int size() const { return size_; }
  int rank() const { return rank_; }
  int at(int index) const {
    return members_.empty() ? index : members_[static_cast<std::size_t>(index)];
  }
  // Index of the member `distance` after `from`, around the end.
  int after(int from, int distance) const {
    const int sum = (from + distance) % size_;
    return sum < 0 ? sum + size_ : sum;
  }
  std::span<const int> host_of() const { return host_of_; }  // of a communicator's own team

 private:
  int size_;
  int rank_;
  std::span<const int> host_of_;
  std::vector<int> members_;
};

}  // namespace tutti::coll
