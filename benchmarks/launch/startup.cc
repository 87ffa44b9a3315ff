// startup: what a program pays for MPI before it does anything: the time of MPI_Init and
// MPI_Finalize, and the private memory of a rank after MPI_Init (from /proc/self/smaps_rollup:
// pages that no other process shares). One line per rank.
//
//   startup [session]     session: MPI_Session_init and a communicator of all ranks instead
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

long private_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  long total = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 8, "Private_") == 0) total += std::stol(line.substr(line.find(':') + 1));
  }
  return total;
}

// What MPI_Init and MPI_Finalize do, in the words of sessions.
struct Opened {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
};

Opened open_session() {
  Opened made;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made.session);
  MPI_Group_from_session_pset(made.session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "startup", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made.comm);
  MPI_Group_free(&group);
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_session = argc > 1 && std::string(argv[1]) == "session";
  Opened opened;
  const long before_kib = private_kib();
  const Clock::time_point start = Clock::now();
  if (is_session)
    opened = open_session();
  else
    MPI_Init(&argc, &argv);
  const Clock::time_point ready = Clock::now();
  const long after_kib = private_kib();
  int rank = 0;
  MPI_Comm_rank(is_session ? opened.comm : MPI_COMM_WORLD, &rank);
  const Clock::time_point closing = Clock::now();
  if (is_session) {
    MPI_Comm_free(&opened.comm);
    MPI_Session_finalize(&opened.session);
  } else {
    MPI_Finalize();
  }
  const Clock::time_point end = Clock::now();
  std::printf("startup rank %d init_us %.1f finalize_us %.1f private_kib %ld before_kib %ld\n",
              rank, microseconds(start, ready), microseconds(closing, end), after_kib, before_kib);
  return 0;
}
