// MPI 5.0, 9.3: errors that belong to no communicator go to MPI_COMM_SELF's handler; in programs
// from before MPI 4, which set one on MPI_COMM_WORLD only, to that.
#include "check.h"

using namespace ranks;

namespace {

int g_world = 0, g_self = 0;

void of_world(MPI_Comm* comm, int*, ...) {
  CHECK(*comm == MPI_COMM_WORLD);
  ++g_world;
}
void of_self(MPI_Comm* comm, int*, ...) {
  CHECK(*comm == MPI_COMM_SELF);
  ++g_self;
}

// None of these has a communicator, or a valid one.
int fail_everywhere() {
  int failed = 0, flag = 0;
  MPI_Datatype type;
  MPI_Group group;
  const int far[] = {4711};
  failed += MPI_Type_contiguous(-1, MPI_INT, &type) != MPI_SUCCESS;
  failed += MPI_Group_incl(MPI_GROUP_EMPTY, 1, far, &group) != MPI_SUCCESS;
  failed += MPI_Comm_rank(MPI_COMM_NULL, &flag) != MPI_SUCCESS;
  failed += MPI_Info_create(nullptr) != MPI_SUCCESS;
  return failed;
}

}  // namespace

int main() {
  ranks::begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(fail_everywhere() == 4);
  MPI_Errhandler world, self;
  MPI_Comm_create_errhandler(of_world, &world);
  MPI_Comm_create_errhandler(of_self, &self);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
  CHECK(fail_everywhere() == 4);
  CHECK(g_world == 4 && g_self == 0);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, self);
  CHECK(fail_everywhere() == 4);
  CHECK(g_world == 4 && g_self == 4);
  // A communicator's own errors stay its own.
  MPI_Comm copy;
  int value = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  CHECK(MPI_Send(&value, 1, MPI_INT, 4711, 0, copy) != MPI_SUCCESS);
  CHECK(g_world == 4 && g_self == 4);
  MPI_Comm_free(&copy);
  MPI_Errhandler_free(&world);
  MPI_Errhandler_free(&self);
  return ranks::done();
}
