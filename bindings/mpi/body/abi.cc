// Chapter 20: the ABI: its version, what Fortran passed us, handles as ints.
#include <array>
#include <cctype>
#include <cstring>
#include <mutex>

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

constexpr int kLargestLogical = 16;
struct FortranBooleans {
  std::mutex lock;  // callable before MPI_Init and from any thread
  int size = 0;     // not set
  std::array<std::byte, kLargestLogical> for_true, for_false;
};
FortranBooleans& booleans() {
  static auto& all = *new FortranBooleans;  // kept: see process.h
  return all;
}

void add_fortran_facts(std::vector<std::pair<std::string, std::string>>* facts) {
  const std::pair<const char*, MPI_Datatype> sized[] = {
      {"mpi_logical_size", MPI_LOGICAL},
      {"mpi_integer_size", MPI_INTEGER},
      {"mpi_real_size", MPI_REAL},
      {"mpi_double_precision_size", MPI_DOUBLE_PRECISION}};
  for (const auto& [key, handle] : sized)
    facts->emplace_back(key, std::to_string(type_of(handle)->size()));
  const MPI_Datatype optional[] = {MPI_LOGICAL1,  MPI_LOGICAL2,  MPI_LOGICAL4,      MPI_LOGICAL8,
                                   MPI_LOGICAL16, MPI_INTEGER1,  MPI_INTEGER2,      MPI_INTEGER4,
                                   MPI_INTEGER8,  MPI_INTEGER16, MPI_REAL2,         MPI_REAL4,
                                   MPI_REAL8,     MPI_REAL16,    MPI_COMPLEX4,      MPI_COMPLEX8,
                                   MPI_COMPLEX16, MPI_COMPLEX32, MPI_DOUBLE_COMPLEX};
  for (const MPI_Datatype handle : optional) {
    std::string key = type_of(handle)->name() + "_supported";
    for (char& letter : key) letter = static_cast<char>(std::tolower(letter));
    facts->emplace_back(key, "true");
  }
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

// What Fortran's compiler takes for true and false, kept for whoever asks.
Code abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
  FortranBooleans& all = booleans();
  const std::scoped_lock hold(all.lock);
  if (all.size != 0)
    return refuse(static_cast<Code>(MPI_ERR_ABI), "Fortran's booleans were set before");
  if (logical_size <= 0 || logical_size > kLargestLogical)
    return refuse(Code::arg, "logical_size is " + std::to_string(logical_size));
  std::memcpy(all.for_true.data(), logical_true, static_cast<std::size_t>(logical_size));
  std::memcpy(all.for_false.data(), logical_false, static_cast<std::size_t>(logical_size));
  all.size = logical_size;
  return Code::ok;
}

Code abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                              int* is_set) {
  FortranBooleans& all = booleans();
  const std::scoped_lock hold(all.lock);
  *is_set = all.size != 0;
  if (all.size == 0) return Code::ok;
  if (logical_size != all.size)
    return refuse(Code::arg, "logical_size is " + std::to_string(logical_size) +
                                 ", a Fortran LOGICAL has " + std::to_string(all.size));
  std::memcpy(logical_true, all.for_true.data(), static_cast<std::size_t>(all.size));
  std::memcpy(logical_false, all.for_false.data(), static_cast<std::size_t>(all.size));
  return Code::ok;
}

// Our Fortran types are the same for every compiler, so its facts can only agree with them.
Code abi_set_fortran_info(Info& info) {
  std::vector<std::pair<std::string, std::string>> ours;
  add_fortran_facts(&ours);
  for (const auto& [key, value] : ours)
    if (const std::string* said = info.find(key); said != nullptr && *said != value)
      return refuse(static_cast<Code>(MPI_ERR_ABI), key + " is " + value + " here, not " + *said);
  return Code::ok;
}

Code abi_get_fortran_info(MPI_Info* info) {
  auto* made = new Info();
  add_fortran_facts(&made->pairs);
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
