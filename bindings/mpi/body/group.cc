// Chapter 7: groups.
#include "bodies.h"
#include "mpi/checks.h"
#include "mpi/convert.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

// An empty result is MPI_GROUP_EMPTY, whoever made it.
Code give_group(const comm::Group& from, Result<comm::GroupRef>&& made, MPI_Group* group) {
  if (!made) return note(made);
  if ((*made)->size() == 0) {
    *group = MPI_GROUP_EMPTY;
    return Code::ok;
  }
  (*made)->session = from.session;
  return give(std::move(made), group);
}

std::span<const int> ranks_of(int n, const int* ranks) {
  return {ranks, n < 0 ? 0 : static_cast<std::size_t>(n)};
}
std::vector<comm::RankRange> ranges_of(int n, int (*ranges)[3]) {
  std::vector<comm::RankRange> all;
  for (int i = 0; i < n; ++i) all.push_back({ranges[i][0], ranges[i][1], ranges[i][2]});
  return all;
}

}  // namespace

Code group_size(comm::Group& group, int* size) {
  *size = group.size();
  return Code::ok;
}

Code group_rank(comm::Group& group, int* rank) {
  *rank = group.rank_of(process.self_comm->peer(0));
  return Code::ok;
}

Code group_translate_ranks(comm::Group& group1, int n, const int ranks1[], comm::Group& group2,
                           int ranks2[]) {
  for (int i = 0; i < n; ++i) {
    if (ranks1[i] == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks1[i] < 0 || ranks1[i] >= group1.size())
      return refuse(Code::rank, "ranks1[" + std::to_string(i) + "] is " +
                                    std::to_string(ranks1[i]) + ", not in the group");
    ranks2[i] = group2.rank_of(group1.at(ranks1[i]));
  }
  return Code::ok;
}

Code group_compare(comm::Group& group1, comm::Group& group2, int* result) {
  *result = to_mpi(comm::compare(group1, group2));
  return Code::ok;
}

Code group_union(comm::Group& group1, comm::Group& group2, MPI_Group* newgroup) {
  return give_group(group1, comm::union_of(group1, group2), newgroup);
}
Code group_intersection(comm::Group& group1, comm::Group& group2, MPI_Group* newgroup) {
  return give_group(group1, comm::intersection_of(group1, group2), newgroup);
}
Code group_difference(comm::Group& group1, comm::Group& group2, MPI_Group* newgroup) {
  return give_group(group1, comm::difference_of(group1, group2), newgroup);
}
Code group_incl(comm::Group& group, int n, const int ranks[], MPI_Group* newgroup) {
  return give_group(group, comm::include(group, ranks_of(n, ranks)), newgroup);
}
Code group_excl(comm::Group& group, int n, const int ranks[], MPI_Group* newgroup) {
  return give_group(group, comm::exclude(group, ranks_of(n, ranks)), newgroup);
}
Code group_range_incl(comm::Group& group, int n, int ranges[][3], MPI_Group* newgroup) {
  return give_group(group, comm::include_ranges(group, ranges_of(n, ranges)), newgroup);
}
Code group_range_excl(comm::Group& group, int n, int ranges[][3], MPI_Group* newgroup) {
  return give_group(group, comm::exclude_ranges(group, ranges_of(n, ranges)), newgroup);
}

Code group_free(MPI_Group* group) {
  const comm::Group* const object = group_of(*group);
  if (object == nullptr || (!object->is_predefined() && !object->take_back()))
    return refuse_to_free(Code::group, "group", "group", bits_of(*group), object);
  if (!object->is_predefined()) object->release();
  *group = MPI_GROUP_NULL;
  return Code::ok;
}

}  // namespace tutti::mpi::body
