// MPI 5.0, 7.3.2, 7.4.2, 11.8.2 and 11.10.4: a group without some ranks keeps the order of the
// others; a communicator is not made of others than its parent's; a duplicate takes the info that
// is given to it; disconnecting waits for what is under way; a job that nobody spawned has no
// parent. Types bear names.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

void without_some() {
  MPI_Group world, others;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int left_out[1] = {size / 2};
  CHECK(MPI_Group_excl(world, 1, left_out, &others) == MPI_SUCCESS);
  int members = -1, me = -1;
  MPI_Group_size(others, &members);
  MPI_Group_rank(others, &me);
  CHECK(members == size - 1);
  CHECK(me == (rank == size / 2 ? MPI_UNDEFINED : rank < size / 2 ? rank : rank - 1));
  for (int r = 0; r < members; ++r) {
    int there = -1;
    MPI_Group_translate_ranks(others, 1, &r, world, &there);
    CHECK(there == (r < size / 2 ? r : r + 1));
  }
  CHECK(MPI_Group_free(&world) == MPI_SUCCESS && world == MPI_GROUP_NULL);
  if (others != MPI_GROUP_EMPTY) MPI_Group_free(&others);
}

void of_strangers() {
  if (size == 1) return;
  MPI_Group world, next;
  MPI_Comm made = MPI_COMM_NULL;
  const int neighbour[1] = {(rank + 1) % size};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, neighbour, &next);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (const MPI_Group group : {world, next}) {
    CHECK(class_of(MPI_Comm_create(MPI_COMM_SELF, group, &made)) == MPI_ERR_GROUP);
    CHECK(class_of(MPI_Comm_create_group(MPI_COMM_SELF, group, 5, &made)) == MPI_ERR_GROUP);
  }
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Group_free(&next);
  MPI_Group_free(&world);
}

std::string value(MPI_Comm comm, const char* key) {
  MPI_Info info;
  char text[40] = "";
  int room = sizeof text, flag = 0;
  MPI_Comm_get_info(comm, &info);
  MPI_Info_get_string(info, key, &room, text, &flag);
  MPI_Info_free(&info);
  return flag != 0 ? text : "none";
}

void with_info() {
  const char* const key = "mpi_assert_no_any_tag";
  MPI_Info info;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, "true");
  CHECK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm) == MPI_SUCCESS);
  MPI_Info_free(&info);
  int result = -1;
  MPI_Comm_compare(MPI_COMM_WORLD, comm, &result);
  CHECK(result == MPI_CONGRUENT && value(comm, key) == "true");
  CHECK(value(MPI_COMM_WORLD, key) != "true");
  std::vector<int> out(100000, rank), in(100000, -1);
  MPI_Request requests[2];
  MPI_Irecv(in.data(), 100000, MPI_INT, (rank + size - 1) % size, 1, comm, &requests[0]);
  MPI_Isend(out.data(), 100000, MPI_INT, (rank + 1) % size, 1, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(MPI_Comm_disconnect(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
  CHECK(in.back() == (rank + size - 1) % size);
  MPI_Comm parent = MPI_COMM_WORLD;
  CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL);
}

void names_of_types() {
  MPI_Datatype type;
  char name[MPI_MAX_OBJECT_NAME] = "x";
  int length = -1;
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_get_name(type, name, &length);
  CHECK(length == 0 && name[0] == '\0');
  MPI_Type_set_name(type, "three of them");
  MPI_Type_get_name(type, name, &length);
  CHECK(length == 13 && std::strcmp(name, "three of them") == 0);
  MPI_Type_get_name(MPI_INT, name, &length);
  CHECK(std::strcmp(name, "MPI_INT") == 0);
  MPI_Type_free(&type);
}

}  // namespace

int main() {
  begin();
  without_some();
  of_strangers();
  with_info();
  names_of_types();
  return done();
}
