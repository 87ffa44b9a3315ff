// A rank is killed in the middle of a team's calls; the others go on without it (prun
// --enable-recovery), and what the dead one's teams had of the job segment serves new ones.
//
// Before, all areas of the host that teams can have are taken, each by a team with the rank that
// dies. After it, its neighbours make more teams than there are areas; dead_member.py counts them.
#include <cstdio>

#include "long_ends.h"

using namespace ranks;

namespace {

constexpr int kAreas = 63;  // of a host, besides that of MPI_COMM_WORLD (lib/wireup/segment.cc)
constexpr int kAfter = 150;

int sum_in(MPI_Comm comm, int* code) {
  int sum = -1;
  *code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

// The last rank dies in one of these calls, which the others notice there.
void until_the_last_is_dead(MPI_Comm comm) {
  std::thread end;
  if (rank == size - 1) end = killer();
  int code = MPI_SUCCESS, error_class = MPI_SUCCESS;
  while (code == MPI_SUCCESS) sum_in(comm, &code);
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_PROC_ABORTED);
}

void go_on_without() {
  const int last = size - 1;
  MPI_Group all, living;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &last, &living);
  for (int i = 0; i < kAfter; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    int code = MPI_SUCCESS;
    CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, living, i, &comm) == MPI_SUCCESS);
    MPI_Comm_set_name(comm, "after");
    CHECK(sum_in(comm, &code) == last * (last - 1) / 2);
    CHECK(code == MPI_SUCCESS);
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&living);
}

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<MPI_Comm> before(kAreas);
  for (MPI_Comm& comm : before) {
    int code = MPI_SUCCESS;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "before");
    CHECK(sum_in(comm, &code) == size * (size - 1) / 2);
  }
  until_the_last_is_dead(before[kAreas / 2]);
  for (MPI_Comm& comm : before) MPI_Comm_free(&comm);
  go_on_without();
  if (failures == 0 && rank == 0) std::puts("the others went on");
  std::fflush(stdout);  // MPI_Finalize says that a rank is missing, and ends this one
  return done();
}
