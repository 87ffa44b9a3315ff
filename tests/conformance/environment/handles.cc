// MPI 5.0, 20: handles as integers and back, for every kind of object: predefined ones are the
// numbers of the ABI, others round trip while they live. The ABI's version and facts.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

std::string info_value(MPI_Info info, const char* key) {
  char value[64] = "";
  int room = sizeof value, flag = 0;
  MPI_Info_get_string(info, key, &room, value, &flag);
  return flag != 0 ? value : "";
}

void facts() {
  int major = 0, minor = -1;
  MPI_Abi_get_version(&major, &minor);
  CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
  MPI_Info info;
  MPI_Abi_get_info(&info);
  CHECK(info_value(info, "mpi_aint_size") == std::to_string(sizeof(MPI_Aint)));
  CHECK(info_value(info, "mpi_count_size") == "8" && info_value(info, "mpi_offset_size") == "8");
  MPI_Info_free(&info);
  CHECK(info == MPI_INFO_NULL);
  MPI_Abi_get_fortran_info(&info);
  CHECK(info_value(info, "mpi_integer_size") == "4");
  CHECK(info_value(info, "mpi_real16_supported") == "true");
  CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
  MPI_Info_set(info, "mpi_integer_size", "8");
  CHECK(MPI_Abi_set_fortran_info(info) == MPI_ERR_ABI);
  MPI_Info_free(&info);
}

void booleans() {
  int yes = 0, no = 0, is_set = -1, on = -1, off = 0;
  MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set);
  CHECK(is_set == 0);
  MPI_Abi_set_fortran_booleans(4, &on, &off);
  MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set);
  CHECK(is_set == 1 && yes == -1 && no == 0);
}

void round_trips() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm);
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101);
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_NULL)) == MPI_COMM_NULL);
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type);
  CHECK(MPI_Type_toint(MPI_INT) == 0x209);
  MPI_Group group;
  MPI_Comm_group(comm, &group);
  CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group);
  CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
  MPI_Info info;
  MPI_Info_create(&info);
  CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
  CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
  CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
  CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
  CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
  CHECK(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
  int token = 0;
  MPI_Request request;
  MPI_Irecv(&token, 1, MPI_INT, rank, 0, comm, &request);
  CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
  MPI_Send(&token, 1, MPI_INT, rank, 0, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

}  // namespace

int main() {
  booleans();  // callable before MPI_Init
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  facts();
  round_trips();
  return done();
}
