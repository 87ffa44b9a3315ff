// Sessions that are opened after MPI_Finalize. Between two of them, and after the last, a rank may
// leave by _exit(0). As its word says rank 1 "ends" as it should, or in the middle of one: "leaves"
// by _exit(0), becomes "another" program, or is "killed" while the others wait for it and go on.
#include <unistd.h>

#include <csignal>
#include <string>

#include "check.h"

using namespace ranks;

namespace {

class Session {
 public:
  Session() {
    MPI_Group all;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session_);
    MPI_Group_from_session_pset(session_, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&all);
  }
  ~Session() {
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  MPI_Comm comm = MPI_COMM_NULL;

 private:
  MPI_Session session_ = MPI_SESSION_NULL;
};

void end_here(const std::string& how) {
  if (how == "leaves") ::_exit(0);
  if (how == "another") ::execl("/bin/true", "true", nullptr);
  if (how == "killed") ::raise(SIGKILL);
}

void meet_and_part(const std::string& how) {
  const Session session;
  CHECK(session.comm != MPI_COMM_NULL);
  int word = 1, number = 0;
  if (rank == 0) {  // all are in it
    CHECK(MPI_Send(&word, 1, MPI_INT, 1, 0, session.comm) == MPI_SUCCESS);
    const int code = MPI_Recv(&number, 1, MPI_INT, 1, 0, session.comm, MPI_STATUS_IGNORE);
    CHECK((code == MPI_SUCCESS) == (how == "ends"));
    if (how == "killed" && failures == 0) std::printf("rank 0 has heard of it\n");
  } else if (rank == 1) {
    CHECK(MPI_Recv(&word, 1, MPI_INT, 0, 0, session.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    end_here(how);
    CHECK(MPI_Send(&rank, 1, MPI_INT, 0, 0, session.comm) == MPI_SUCCESS);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "ends";
  begin();
  MPI_Finalize();
  for (int round = 0; round < 2; ++round) meet_and_part("ends");
  if (how != "ends") meet_and_part(how);
  std::fflush(nullptr);
  ::_exit(failures == 0 ? 0 : 1);  // out of all sessions: that is no failure
}
