// A session that is opened after MPI_Finalize. As its word says rank 1 "ends" as it should, or in
// the middle of it: "leaves" by _exit(0), becomes "another" program, or is "killed" while the
// others wait for it and go on.
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

int number_of_rank_1(MPI_Comm comm, int* number) {
  if (rank == 1) return MPI_Send(number, 1, MPI_INT, 0, 0, comm);
  return rank == 0 ? MPI_Recv(number, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE) : MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "ends";
  begin();
  MPI_Finalize();
  for (int round = 0; round < 2; ++round) {
    const Session session;
    int number = rank;
    CHECK(number_of_rank_1(session.comm, &number) == MPI_SUCCESS);
    CHECK(number == (rank == 0 ? 1 : rank));
  }
  {
    const Session session;
    if (rank == 1 && how == "leaves") ::_exit(0);
    if (rank == 1 && how == "another") ::execl("/bin/true", "true", nullptr);
    if (rank == 1 && how == "killed") ::raise(SIGKILL);
    int number = rank;
    const int code = number_of_rank_1(session.comm, &number);
    CHECK((code == MPI_SUCCESS) == (how == "ends" || rank != 0));
    if (rank == 0 && how == "killed" && failures == 0) std::printf("rank 0 has heard of it\n");
  }
  return failures == 0 ? 0 : 1;
}
