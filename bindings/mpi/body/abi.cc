// Chapter 20: the ABI: its version, what Fortran passed us, handles as ints.
#include "bodies.h"
#include "mpi/handles.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

template <class UserHandle>
int to_int(UserHandle handle) {
  return number_of(bits_of(handle));
}
template <class UserHandle>
UserHandle from_int(int number) {
  return reinterpret_cast<UserHandle>(handle_of_number(number));
}

}  // namespace

Code abi_get_version(int* abi_major, int* abi_minor) {
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return Code::ok;
}

Code abi_get_info(MPI_Info* info) {
  auto* made = new Info();
  made->set("mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
  made->set("mpi_count_size", std::to_string(sizeof(MPI_Count)));
  made->set("mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
  *info = handle_to(made, MPI_INFO_NULL);
  return Code::ok;
}

int comm_toint(MPI_Comm comm) {
  return to_int(comm);
}
MPI_Comm comm_fromint(int comm) {
  return from_int<MPI_Comm>(comm);
}
int errhandler_toint(MPI_Errhandler errhandler) {
  return to_int(errhandler);
}
MPI_Errhandler errhandler_fromint(int errhandler) {
  return from_int<MPI_Errhandler>(errhandler);
}
int file_toint(MPI_File file) {
  return to_int(file);
}
MPI_File file_fromint(int file) {
  return from_int<MPI_File>(file);
}
int group_toint(MPI_Group group) {
  return to_int(group);
}
MPI_Group group_fromint(int group) {
  return from_int<MPI_Group>(group);
}
int info_toint(MPI_Info info) {
  return to_int(info);
}
MPI_Info info_fromint(int info) {
  return from_int<MPI_Info>(info);
}
int message_toint(MPI_Message message) {
  return to_int(message);
}
MPI_Message message_fromint(int message) {
  return from_int<MPI_Message>(message);
}
int op_toint(MPI_Op op) {
  return to_int(op);
}
MPI_Op op_fromint(int op) {
  return from_int<MPI_Op>(op);
}
int request_toint(MPI_Request request) {
  return to_int(request);
}
MPI_Request request_fromint(int request) {
  return from_int<MPI_Request>(request);
}
int session_toint(MPI_Session session) {
  return to_int(session);
}
MPI_Session session_fromint(int session) {
  return from_int<MPI_Session>(session);
}
int type_toint(MPI_Datatype datatype) {
  return to_int(datatype);
}
MPI_Datatype type_fromint(int datatype) {
  return from_int<MPI_Datatype>(datatype);
}
int win_toint(MPI_Win win) {
  return to_int(win);
}
MPI_Win win_fromint(int win) {
  return from_int<MPI_Win>(win);
}

}  // namespace tutti::mpi::body
