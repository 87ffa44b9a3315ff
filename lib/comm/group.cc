// Groups: ordered sets of job ranks, and the set operations of MPI 5.0, 7.3.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "comm/comm.h"

namespace tutti::comm {
namespace {

bool counts_up(const std::vector<int>& members) {
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i] != static_cast<int>(i)) return false;
  return true;
}

GroupRef group_of(std::vector<int> members) {
  return GroupRef::adopt(new Group(std::move(members)));
}

// Job ranks of a group in ascending order, for membership tests.
std::vector<int> sorted(const Group& group) {
  std::vector<int> members = group.members();
  std::sort(members.begin(), members.end());
  return members;
}

bool holds(const std::vector<int>& ascending, int member) {
  return std::binary_search(ascending.begin(), ascending.end(), member);
}

// Marks the ranks named; an error names the first that is out of range or named twice.
Result<std::vector<bool>> marked(const Group& group, std::span<const int> ranks) {
  std::vector<bool> marks(static_cast<std::size_t>(group.size()), false);
  for (const int rank : ranks) {
    if (rank < 0 || rank >= group.size())
      return fail(Code::rank, "rank " + std::to_string(rank) + " is not in a group of " +
                                  std::to_string(group.size()));
    if (marks[static_cast<std::size_t>(rank)])
      return fail(Code::rank, "rank " + std::to_string(rank) + " is named twice");
    marks[static_cast<std::size_t>(rank)] = true;
  }
  return marks;
}

Result<std::vector<int>> expand(const Group& group, std::span<const RankRange> ranges) {
  std::vector<int> ranks;
  for (const RankRange& range : ranges) {
    if (range.stride == 0) return fail(Code::arg, "a range of ranks has stride 0");
    const std::int64_t stride = range.stride;
    if (stride > 0 ? range.first > range.last : range.first < range.last)
      return fail(Code::arg, "a range of ranks does not lead from " + std::to_string(range.first) +
                                 " to " + std::to_string(range.last) + " by steps of " +
                                 std::to_string(stride));
    for (std::int64_t rank = range.first; stride > 0 ? rank <= range.last : rank >= range.last;
         rank += stride) {
      if (rank < 0 || rank >= group.size())
        return fail(Code::rank, "rank " + std::to_string(rank) +
                                    " of a range is not in a group of " +
                                    std::to_string(group.size()));
      ranks.push_back(static_cast<int>(rank));
    }
  }
  return ranks;
}

}  // namespace

Group::Group(std::vector<int> members, Handle handle)
    : Object(ObjectKind::group, &Object::destroy_as<Group>, handle),
      members_(std::move(members)),
      counts_up_(counts_up(members_)) {
  if (counts_up_) return;
  by_member_.resize(members_.size());
  std::iota(by_member_.begin(), by_member_.end(), 0);
  std::sort(by_member_.begin(), by_member_.end(), [this](int a, int b) { return at(a) < at(b); });
}

int Group::rank_of(int job_rank) const {
  if (counts_up_) return job_rank >= 0 && job_rank < size() ? job_rank : kUndefined;
  const auto found = std::lower_bound(by_member_.begin(), by_member_.end(), job_rank,
                                      [this](int rank, int wanted) { return at(rank) < wanted; });
  return found != by_member_.end() && at(*found) == job_rank ? *found : kUndefined;
}

Comparison compare(const Group& a, const Group& b) {
  if (&a == &b || a.members() == b.members()) return Comparison::identical;
  return sorted(a) == sorted(b) ? Comparison::similar : Comparison::unequal;
}

GroupRef union_of(const Group& a, const Group& b) {
  std::vector<int> members = a.members();
  for (const int member : b.members())
    if (a.rank_of(member) == kUndefined) members.push_back(member);
  return group_of(std::move(members));
}

GroupRef intersection_of(const Group& a, const Group& b) {
  std::vector<int> members;
  for (const int member : a.members())
    if (b.rank_of(member) != kUndefined) members.push_back(member);
  return group_of(std::move(members));
}

GroupRef difference_of(const Group& a, const Group& b) {
  std::vector<int> members;
  const std::vector<int> gone = sorted(b);
  for (const int member : a.members())
    if (!holds(gone, member)) members.push_back(member);
  return group_of(std::move(members));
}

Result<GroupRef> include(const Group& group, std::span<const int> ranks) {
  TUTTI_DO(marked(group, ranks).map([](const auto&) {}));
  std::vector<int> members;
  for (const int rank : ranks) members.push_back(group.at(rank));
  return group_of(std::move(members));
}

Result<GroupRef> exclude(const Group& group, std::span<const int> ranks) {
  TUTTI_TRY(marks, marked(group, ranks));
  std::vector<int> members;
  for (int rank = 0; rank < group.size(); ++rank)
    if (!marks[static_cast<std::size_t>(rank)]) members.push_back(group.at(rank));
  return group_of(std::move(members));
}

Result<GroupRef> include_ranges(const Group& group, std::span<const RankRange> ranges) {
  TUTTI_TRY(ranks, expand(group, ranges));
  return include(group, ranks);
}

Result<GroupRef> exclude_ranges(const Group& group, std::span<const RankRange> ranges) {
  TUTTI_TRY(ranks, expand(group, ranges));
  return exclude(group, ranks);
}

}  // namespace tutti::comm
