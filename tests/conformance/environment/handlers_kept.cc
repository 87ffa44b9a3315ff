// MPI 5.0, 9.3 and 7.4.2: a communicator keeps its error handler until what is under way on it has
// ended, freed or not; a communicator made from groups has its handler from the first moment.
#include "check.h"

using namespace ranks;

namespace {

int g_told = 0;

void tell(MPI_Comm*, int* code, ...) {
  int error_class = -1;
  MPI_Error_class(*code, &error_class);
  if (error_class == MPI_ERR_TRUNCATE) ++g_told;
}

// The message is longer than the receive that its communicator does not outlive.
void freed_while_receiving(MPI_Errhandler handler, bool told) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  int in[1] = {}, out[4] = {1, 2, 3, 4};
  MPI_Request received, sent;
  MPI_Irecv(in, 1, MPI_INT, 0, 1, comm, &received);
  MPI_Isend(out, 4, MPI_INT, 0, 1, comm, &sent);
  MPI_Comm_free(&comm);
  g_told = 0;
  const int code = MPI_Wait(&received, MPI_STATUS_IGNORE);
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_TRUNCATE);
  CHECK(g_told == (told ? 1 : 0));
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

int g_by_group = 0;

void tell_of_group(MPI_Comm*, int*, ...) {
  ++g_by_group;
}

// Both handlers of the process end the job: only the one that is given may be asked.
void given_for_what_is_made() {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(tell_of_group, &handler);
  MPI_Group world, others, mine;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(MPI_COMM_SELF, &mine);
  MPI_Group_excl(world, 1, &ranks::rank, &others);
  MPI_Comm made = MPI_COMM_WORLD;
  int expected = 0;
  if (ranks::size > 1) {  // this process is not in that group
    CHECK(MPI_Comm_create_from_group(others, "a", MPI_INFO_NULL, handler, &made) != MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(others, "a", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) !=
          MPI_SUCCESS);
    ++expected;
  }
  CHECK(MPI_Comm_create_from_group(MPI_GROUP_NULL, "a", MPI_INFO_NULL, handler, &made) !=
        MPI_SUCCESS);
  CHECK(MPI_Intercomm_create_from_groups(mine, 1, mine, 0, "a", MPI_INFO_NULL, handler, &made) !=
        MPI_SUCCESS);
  expected += 2;
  CHECK(g_by_group == expected);
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, nullptr) != MPI_SUCCESS);
  MPI_Errhandler_free(&handler);
  MPI_Group_free(&world);
  MPI_Group_free(&mine);
  if (others != MPI_GROUP_EMPTY) MPI_Group_free(&others);
}

}  // namespace

int main() {
  ranks::begin();
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(tell, &handler);
  freed_while_receiving(MPI_ERRORS_RETURN, false);
  freed_while_receiving(handler, true);
  MPI_Errhandler_free(&handler);
  given_for_what_is_made();
  return ranks::done();
}
