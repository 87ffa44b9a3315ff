// MPI 5.0, 11.2 and 11.3: a session does not make MPI_Finalize legal; it is an error, before
// MPI_Init and after MPI_Finalize, that the handler of MPI_COMM_SELF gets.
#include "check.h"

using namespace ranks;

int main() {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Finalize()) == MPI_ERR_OTHER);
  ranks::begin();
  CHECK(ranks::done() == 0);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Finalize()) == MPI_ERR_OTHER);
  MPI_Session_finalize(&session);
  return ranks::failures == 0 ? 0 : 1;
}
