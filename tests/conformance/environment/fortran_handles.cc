// MPI 5.0, 19.3.4 and 19.3.5: handles of C given to Fortran and taken back, the profiling names of
// the conversions, and statuses, whose fields a Fortran program finds at the ABI's places.
#include "check.h"

using namespace ranks;

namespace {

void handles() {
  const MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
  CHECK(world == 0x101 && MPI_Comm_f2c(world) == MPI_COMM_WORLD);
  CHECK(PMPI_Comm_f2c(PMPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(comm)) == comm);
  MPI_Datatype type;
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &type);
  CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type);
  MPI_Group group;
  MPI_Comm_group(comm, &group);
  CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group);
  MPI_Info info;
  MPI_Info_create(&info);
  CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
  CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_MAXLOC)) == MPI_MAXLOC);
  CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_ABORT)) == MPI_ERRORS_ABORT);
  CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
  CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

void statuses() {
  int token = 5;
  MPI_Request request;
  MPI_Status sent_on, taken_back;
  MPI_Irecv(&token, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &request);
  CHECK(MPI_Request_f2c(MPI_Request_c2f(request)) == request);
  MPI_Send(&token, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
  MPI_Wait(&request, &sent_on);
  MPI_Fint integers[MPI_F_STATUS_SIZE];
  CHECK(MPI_Status_c2f(&sent_on, integers) == MPI_SUCCESS);
  CHECK(integers[0] == rank && integers[1] == 7);  // MPI_F_SOURCE, MPI_F_TAG
  CHECK(MPI_Status_f2c(integers, &taken_back) == MPI_SUCCESS);
  int count = 0;
  MPI_Get_count(&taken_back, MPI_INT, &count);
  CHECK(count == 1 && taken_back.MPI_SOURCE == rank && taken_back.MPI_TAG == 7);
}

}  // namespace

int main() {
  begin();
  handles();
  statuses();
  return done();
}
