// Communicators: split, dup, create, shared memory, comparing, freeing; messages stay apart.
#include <unistd.h>

#include "check.h"

using namespace ranks;

namespace {

int rank_in(MPI_Comm comm) {
  int r = -1;
  MPI_Comm_rank(comm, &r);
  return r;
}
int size_of(MPI_Comm comm) {
  int n = -1;
  MPI_Comm_size(comm, &n);
  return n;
}
int sum_over(MPI_Comm comm, int value) {
  int sum = -1;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}
int compare(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  MPI_Comm_compare(a, b, &result);
  return result;
}

void duplicates() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK(rank_in(comm) == rank && size_of(comm) == size);
  CHECK(compare(comm, MPI_COMM_WORLD) == MPI_CONGRUENT);
  CHECK(compare(comm, comm) == MPI_IDENT);
  // The same tag on two communicators: each receive takes its own.
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int one = 1, two = 2, got = 0;
  MPI_Request requests[2];
  MPI_Isend(&one, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&two, 1, MPI_INT, right, 0, comm, &requests[1]);
  MPI_Recv(&got, 1, MPI_INT, left, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
  CHECK(got == 2);
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(got == 1);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Comm_free(&comm);
  CHECK(comm == MPI_COMM_NULL);
}

void splits() {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &comm);
  const int members = (size - rank % 3 + 2) / 3;
  CHECK(size_of(comm) == members && rank_in(comm) == members - 1 - rank / 3);
  int sum = 0;
  for (int r = rank % 3; r < size; r += 3) sum += r;
  CHECK(sum_over(comm, rank) == sum);
  MPI_Comm half;
  MPI_Comm_split(comm, rank_in(comm) % 2 == 0 ? 0 : MPI_UNDEFINED, 0, &half);
  CHECK((half == MPI_COMM_NULL) == (rank_in(comm) % 2 != 0));
  if (half != MPI_COMM_NULL) {
    CHECK(sum_over(half, 1) == (members + 1) / 2);
    MPI_Comm_free(&half);
  }
  MPI_Comm_free(&comm);
}

void shared() {
  MPI_Comm comm;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  CHECK(comm != MPI_COMM_NULL && size_of(comm) >= 1 && size_of(comm) <= size);
  char mine[MPI_MAX_PROCESSOR_NAME] = "", first[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(mine, &length);
  std::copy(mine, mine + sizeof mine, first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, comm);
  CHECK(std::string(mine) == first);
  char own[MPI_MAX_PROCESSOR_NAME] = "";
  CHECK(gethostname(own, sizeof own - 1) == 0);
  CHECK(std::string(mine) == own || std::string(mine) != "localhost");
  MPI_Comm_free(&comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm);
  CHECK(comm == MPI_COMM_NULL);
}

// By each way that there is; even ranks on one side, odd ones on the other. Where all sit on one
// host.
void shared_between() {
  MPI_Comm here;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  const bool is_one_host = size_of(here) == size;
  MPI_Comm_free(&here);
  if (size == 1 || !is_one_host) return;
  const bool even = rank % 2 == 0;
  MPI_Comm local, inter;
  MPI_Comm_split(MPI_COMM_WORLD, even ? 0 : 1, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, even ? 1 : 0, 3, &inter);
  MPI_Info info;
  MPI_Info_create(&info);
  const auto parts = [&](int type, const char* key, const char* value) {
    if (key != nullptr) MPI_Info_set(info, key, value);
    MPI_Comm part = MPI_COMM_NULL;
    CHECK(MPI_Comm_split_type(inter, type, -rank, key == nullptr ? MPI_INFO_NULL : info, &part) ==
          MPI_SUCCESS);
    if (part == MPI_COMM_NULL) return 0;
    int is_inter = 0, others = 0;
    MPI_Comm_test_inter(part, &is_inter);
    MPI_Comm_remote_size(part, &others);
    CHECK(is_inter == 1 && rank_in(part) == size_of(local) - 1 - rank_in(local));
    const int all = size_of(part) + others;
    MPI_Comm_free(&part);
    return all;
  };
  constexpr const char *kResource = "mpi_hw_resource_type", *kSet = "mpi_pset_name";
  CHECK(parts(MPI_COMM_TYPE_SHARED, nullptr, nullptr) == size);
  CHECK(parts(MPI_UNDEFINED, nullptr, nullptr) == 0);
  CHECK(parts(MPI_COMM_TYPE_HW_GUIDED, nullptr, nullptr) == 0);
  CHECK(parts(MPI_COMM_TYPE_HW_GUIDED, kResource, "mpi_shared_memory") == size);
  CHECK(parts(MPI_COMM_TYPE_HW_GUIDED, kResource, "hwloc://Machine") == size);
  CHECK(parts(MPI_COMM_TYPE_RESOURCE_GUIDED, kResource, "hwloc://Machine") == size);
  CHECK(parts(MPI_COMM_TYPE_RESOURCE_GUIDED, kSet, "mpi://WORLD") == size);
  CHECK(parts(MPI_COMM_TYPE_RESOURCE_GUIDED, kSet, "mpi://SELF") == 0);  // nobody is opposite
  MPI_Info_free(&info);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

void created() {
  MPI_Group all, odd;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  std::vector<int> members;
  for (int r = size - 1; r >= 0; --r)
    if (r % 2 == 1 || size == 1) members.push_back(r);
  MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &odd);
  MPI_Comm comm;
  MPI_Comm_create(MPI_COMM_WORLD, odd, &comm);
  const bool inside = rank % 2 == 1 || size == 1;
  CHECK((comm != MPI_COMM_NULL) == inside);
  if (inside) {
    CHECK(members[static_cast<std::size_t>(rank_in(comm))] == rank);
    MPI_Comm again;  // only the members call this one
    MPI_Comm_create_group(MPI_COMM_WORLD, odd, 77, &again);
    CHECK(compare(comm, again) == MPI_CONGRUENT);
    CHECK(sum_over(again, 1) == static_cast<int>(members.size()));
    MPI_Comm_free(&again);
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&odd);
  MPI_Group_free(&all);
}

// Freed while something is under way: it ends all the same.
void freed_early() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int sum = -1, got = -1;
  MPI_Request requests[3];
  MPI_Irecv(&got, 1, MPI_INT, left, 0, comm, &requests[0]);
  MPI_Isend(&rank, 1, MPI_INT, right, 0, comm, &requests[1]);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[2]);
  MPI_Comm_free(&comm);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(got == left && sum == size * (size - 1) / 2);
}

void many() {
  for (int i = 0; i < 300; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(i % 2 == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF, &comm);
    CHECK(sum_over(comm, 1) == (i % 2 == 0 ? size : 1));
    MPI_Comm_free(&comm);
  }
}

void self() {
  int word = 3, got = 0, inter = 1;
  MPI_Request request;
  MPI_Isend(&word, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == 3 && sum_over(MPI_COMM_SELF, 4) == 4);
  MPI_Comm_test_inter(MPI_COMM_WORLD, &inter);
  CHECK(inter == 0);
}

}  // namespace

int main() {
  begin();
  duplicates();
  splits();
  shared();
  shared_between();
  created();
  freed_early();
  many();
  self();
  return done();
}
