// MPI 5.0, 11.3.2 to 11.3.4, 9.3: process sets and their names, what a session says of itself,
// its error handler; a program that never calls MPI_Init.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

int heard = 0;

void hear(MPI_Session* session, int* code, ...) {
  int kind = 0;
  MPI_Error_class(*code, &kind);
  if (*session != MPI_SESSION_NULL && kind == MPI_ERR_ARG) ++heard;
}

void names(MPI_Session session) {
  int count = 0;
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
  CHECK(count >= 2);
  bool has_world = false, has_self = false;
  for (int n = 0; n < count; ++n) {
    int length = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, nullptr);
    std::vector<char> name(static_cast<std::size_t>(length));
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name.data());
    CHECK(std::strlen(name.data()) + 1 == name.size());
    has_world = has_world || std::string(name.data()) == "mpi://WORLD";
    has_self = has_self || std::string(name.data()) == "mpi://SELF";
    MPI_Info info = MPI_INFO_NULL;
    MPI_Session_get_pset_info(session, name.data(), &info);
    int room = 16, flag = 0, members = -1;
    char text[16] = "";
    MPI_Info_get_string(info, "mpi_size", &room, text, &flag);
    CHECK(flag == 1);
    MPI_Info_free(&info);
    MPI_Group group;
    MPI_Group_from_session_pset(session, name.data(), &group);
    MPI_Group_size(group, &members);
    CHECK(members == std::stoi(text));
    MPI_Group_free(&group);
    char part[5] = "";
    length = sizeof part;  // too short: as much as fits
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, part);
    CHECK(std::strncmp(part, name.data(), 4) == 0 && part[4] == '\0');
  }
  CHECK(has_world && has_self);
}

}  // namespace

int main() {
  MPI_Info asks;
  MPI_Info_create(&asks);  // allowed before anything else
  MPI_Info_set(asks, "thread_level", "MPI_THREAD_MULTIPLE");
  MPI_Errhandler handler, same;
  MPI_Session_create_errhandler(hear, &handler);
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Session_init(asks, handler, &session);
  MPI_Session_get_errhandler(session, &same);
  CHECK(same == handler);
  MPI_Errhandler_free(&same);
  names(session);
  MPI_Group group = MPI_GROUP_NULL;
  CHECK(MPI_Group_from_session_pset(session, "MPI://self", &group) == MPI_SUCCESS);  // a URI
  int members = 0;
  MPI_Group_size(group, &members);
  CHECK(members == 1);
  MPI_Group_free(&group);
  CHECK(MPI_Group_from_session_pset(session, "mpi://NOBODY", &group) != MPI_SUCCESS);
  CHECK(heard == 1);
  MPI_Session_call_errhandler(session, MPI_ERR_ARG);
  CHECK(heard == 2);
  MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
  int length = 0;
  CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, nullptr) != MPI_SUCCESS);
  CHECK(heard == 2);
  MPI_Info says = MPI_INFO_NULL;
  MPI_Session_get_info(session, &says);
  int room = 64, flag = 0;
  char level[64] = "";
  MPI_Info_get_string(says, "thread_level", &room, level, &flag);
  CHECK(flag == 1 && std::string(level) == "MPI_THREAD_MULTIPLE");
  MPI_Info_free(&says);
  MPI_Info_free(&asks);
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
  int initialized = -1;
  MPI_Initialized(&initialized);
  CHECK(initialized == 0);
  return failures != 0;
}
