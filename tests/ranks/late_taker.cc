// Rank 0 hands over a message and ends its session; rank 1 takes it when somebody opens the FIFO
// that the argument names: the end has to wait, and says so. (MPI_Finalize would first wait for
// rank 1 itself.)
#include <fcntl.h>
#include <unistd.h>

#include <numeric>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kInts = 1 << 18;  // longer than what is sent without being asked for

}  // namespace

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group group;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm comm;
  MPI_Comm_create_from_group(group, "late taker", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  std::vector<int> wanted(kInts);
  std::iota(wanted.begin(), wanted.end(), 0);
  if (rank == 0) {
    MPI_Request request;
    MPI_Isend(wanted.data(), kInts, MPI_INT, 1, 0, comm, &request);
    MPI_Request_free(&request);
  } else {
    const int fifo = argc > 1 ? ::open(argv[1], O_RDONLY) : -1;
    CHECK(fifo >= 0);
    std::vector<int> got(kInts, -1);
    MPI_Recv(got.data(), kInts, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    CHECK(got == wanted);
    ::close(fifo);
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return failures == 0 ? 0 : 1;
}
