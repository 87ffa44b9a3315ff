// Groups: ordered sets of ranks of the job (MPI 5.0, 7.2). Values behind counted handles.
#pragma once

#include <span>
#include <vector>

#include "base/object.h"
#include "base/result.h"
#include "types/types.h"

namespace tutti::comm {

using types::Count;
inline constexpr int kUndefined = -32766;  // MPI_UNDEFINED of the standard ABI
inline constexpr int kProcNull = -3;       // MPI_PROC_NULL of the standard ABI
inline constexpr int kRoot = -4;           // MPI_ROOT of the standard ABI

class Group final : public Object {
 public:
  explicit Group(std::vector<int> members, Handle handle = 0);
  int size() const { return static_cast<int>(members_.size()); }
  int at(int rank) const { return members_[static_cast<std::size_t>(rank)]; }  // rank in the job
  int rank_of(int job_rank) const;  // kUndefined when not a member
  const std::vector<int>& members() const { return members_; }
  // The session it comes from, itself or by the groups it was made of; 0: none. The bindings'.
  mutable Handle session = 0;

 private:
  std::vector<int> members_;
  std::vector<int> by_member_;  // ranks, in ascending order of their members
  bool counts_up_;              // member i is job rank i: no table needed
};
using GroupRef = Ref<Group>;
enum class Comparison { identical, congruent, similar, unequal };
Comparison compare(const Group& a, const Group& b);
GroupRef union_of(const Group& a, const Group& b);
GroupRef intersection_of(const Group& a, const Group& b);
GroupRef difference_of(const Group& a, const Group& b);
Result<GroupRef> include(const Group& group, std::span<const int> ranks);
Result<GroupRef> exclude(const Group& group, std::span<const int> ranks);
struct RankRange {
  int first, last, stride;
};
Result<GroupRef> include_ranges(const Group& group, std::span<const RankRange> ranges);
Result<GroupRef> exclude_ranges(const Group& group, std::span<const RankRange> ranges);

}  // namespace tutti::comm
