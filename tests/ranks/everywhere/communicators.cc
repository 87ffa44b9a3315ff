// Communicators made in every way, groups, and sessions.
#include <algorithm>
#include <string>

#include "everywhere.h"

namespace everywhere {
namespace {

// A communicator works: all its members count themselves. It is freed.
void use(MPI_Comm* comm) {
  if (*comm == MPI_COMM_NULL) return;
  int one = 1, sum = 0, members = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *comm);
  MPI_Comm_size(*comm, &members);
  CHECK(sum == members);
  MPI_Comm_free(comm);
}

void duplicates(const Mine& my) {
  MPI_Comm copy, told, later, told_later;
  MPI_Info info;
  MPI_Request requests[2];
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_idup(my.comm, &later, &requests[0]);
  MPI_Comm_idup_with_info(my.comm, info, &told_later, &requests[1]);
  MPI_Comm_dup(my.comm, &copy);
  MPI_Comm_dup_with_info(my.comm, info, &told);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  int result = -1;
  MPI_Comm_compare(my.comm, later, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_set_info(copy, info);
  MPI_Info_free(&info);
  MPI_Comm_get_info(copy, &info);
  MPI_Info_free(&info);
  for (MPI_Comm* comm : {&copy, &told, &later, &told_later}) use(comm);
}

void parts(const Mine& my) {
  MPI_Comm half, near, made, of_group;
  MPI_Group all, even;
  MPI_Comm_split(my.comm, rank % 2, rank, &half);
  MPI_Comm_split_type(my.comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &near);
  MPI_Comm_group(my.comm, &all);
  int range[1][3] = {{0, size - 1, 2}}, own = -1;
  MPI_Comm_rank(my.comm, &own);
  MPI_Group_range_incl(all, 1, range, &even);
  MPI_Comm_create(my.comm, even, &made);
  CHECK((made == MPI_COMM_NULL) == (rank % 2 == 1) && own == rank);
  if (rank % 2 == 0) {
    MPI_Comm_create_group(my.comm, even, 7, &of_group);
    use(&of_group);
    const std::string words = "thread " + std::to_string(my.thread);
    MPI_Comm_create_from_group(even, words.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &of_group);
    use(&of_group);
  }
  MPI_Group_free(&even);
  MPI_Group_free(&all);
  for (MPI_Comm* comm : {&half, &near, &made}) use(comm);
}

// Both halves, joined in the two ways there are.
void between(const Mine& my) {
  int flag = -1, others = 0;
  MPI_Comm_test_inter(my.comm, &flag);
  CHECK(flag == 0);
  if (size < 2) return;
  MPI_Comm half, inter, merged, of_groups;
  MPI_Group here, there;
  MPI_Comm_split(my.comm, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, my.comm, 1 - rank % 2, 8, &inter);
  MPI_Comm_test_inter(inter, &flag);
  MPI_Comm_remote_size(inter, &others);
  CHECK(flag == 1 && others == (size + rank % 2) / 2);
  MPI_Comm_group(half, &here);
  MPI_Comm_remote_group(inter, &there);
  const std::string words = "between " + std::to_string(my.thread);
  MPI_Intercomm_create_from_groups(here, 0, there, 0, words.c_str(), MPI_INFO_NULL,
                                   MPI_ERRORS_RETURN, &of_groups);
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, of_groups);
  CHECK(sum == others);
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  use(&merged);
  MPI_Comm_disconnect(&of_groups);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  MPI_Group_free(&here);
  MPI_Group_free(&there);
}

void groups(const Mine&) {
  MPI_Group all, mine, others;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &rank, &mine);
  MPI_Group_excl(all, 1, &rank, &others);
  int range[1][3] = {{rank, rank, 1}}, members = -1, place = -1, result = -1;
  std::array<MPI_Group, 4> made;
  MPI_Group_range_excl(all, 1, range, &made[0]);
  MPI_Group_union(mine, others, &made[1]);
  MPI_Group_intersection(all, mine, &made[2]);
  MPI_Group_difference(all, mine, &made[3]);
  MPI_Group_compare(made[0], made[3], &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_size(made[1], &members);
  MPI_Group_rank(made[2], &place);
  CHECK(members == size && place == 0);
  MPI_Group_translate_ranks(made[2], 1, &place, all, &place);
  CHECK(place == rank);
  for (MPI_Group& group : made)
    if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
  if (others != MPI_GROUP_EMPTY) MPI_Group_free(&others);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
}

void sessions(const Mine& my) {
  MPI_Session session;
  MPI_Info info;
  MPI_Group world;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  int sets = 0, length = MPI_MAX_PSET_NAME_LEN, bytes = 0;
  char name[MPI_MAX_PSET_NAME_LEN];
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  CHECK(sets >= 2);
  MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name);
  MPI_Session_get_pset_info(session, name, &info);
  MPI_Info_free(&info);
  MPI_Session_get_info(session, &info);
  MPI_Info_free(&info);
  MPI_Errhandler handler;
  MPI_Session_get_errhandler(session, &handler);
  MPI_Session_set_errhandler(session, handler);
  MPI_Session_call_errhandler(session, MPI_SUCCESS);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  const std::string words = "session " + std::to_string(my.thread);
  MPI_Comm_create_from_group(world, words.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&world);
  use(&comm);
  void* memory = nullptr;
  MPI_Request request;
  MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0);
  MPI_Session_flush_buffer(session);
  MPI_Session_iflush_buffer(session, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Session_detach_buffer(session, &memory, &bytes);
  MPI_Session_finalize(&session);
}

constexpr std::array<Family, 5> kFamilies{duplicates, parts, between, groups, sessions};

}  // namespace

std::span<const Family> communicators() {
  return kFamilies;
}

}  // namespace everywhere
