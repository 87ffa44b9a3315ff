// MPI 5.0, 11.3: sessions before, beside and after MPI_Init and without it, opened and closed
// many times; communicators made from their process sets.
#include "check.h"

using namespace ranks;

namespace {

MPI_Session open() {
  MPI_Session session = MPI_SESSION_NULL;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  return session;
}

MPI_Comm made_from(MPI_Session session, const char* set, const char* text) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
  CHECK(MPI_Comm_create_from_group(group, text, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
        MPI_SUCCESS);
  MPI_Group_free(&group);
  return comm;
}

// All members add their ranks.
void works(MPI_Comm comm) {
  int me = -1, n = 0, sum = -1;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == n * (n - 1) / 2);
}

void use(const char* text) {
  MPI_Session session = open();
  for (const char* set : {"mpi://WORLD", "mpi://SELF"}) {
    MPI_Comm comm = made_from(session, set, text);
    works(comm);
    MPI_Comm_free(&comm);
  }
  CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
  CHECK(session == MPI_SESSION_NULL);
}

void two_at_once() {
  MPI_Session first = open(), second = open();
  MPI_Comm one = made_from(first, "mpi://WORLD", "first"),
           two = made_from(second, "mpi://WORLD", "second");
  works(two);
  works(one);
  MPI_Comm_free(&one);
  MPI_Session_finalize(&first);
  works(two);
  MPI_Comm_free(&two);
  MPI_Session_finalize(&second);
}

}  // namespace

int main() {
  int flag = -1;
  use("before MPI_Init");
  MPI_Initialized(&flag);
  CHECK(flag == 0);
  for (int round = 0; round < 50; ++round) use("many times");
  two_at_once();

  MPI_Session across = open();  // from before MPI_Init to after MPI_Finalize
  MPI_Comm kept = made_from(across, "mpi://WORLD", "across");
  begin();
  use("beside MPI_Init");
  works(MPI_COMM_WORLD);
  works(kept);
  const int status = done();
  MPI_Finalized(&flag);
  CHECK(flag == 1);
  works(kept);
  MPI_Comm_free(&kept);
  MPI_Session_finalize(&across);

  for (int round = 0; round < 20; ++round) use("after MPI_Finalize");
  return status != 0 || failures != 0;
}
