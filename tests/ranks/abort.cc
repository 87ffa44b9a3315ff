// The last rank ends the job with status 43 while all others wait for a message for ever. With a
// word it does so by a communicator of its own: "named", or "unnamed". A second word is the status.
// Before it ends the job it prints a line, which stays in its stream; "held": a thread of its own
// holds that stream for ever.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "check.h"

using namespace ranks;

int main(int argc, char** argv) {
  begin();
  MPI_Comm comm = MPI_COMM_WORLD;
  if (argc > 1) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (argc > 1 && std::strcmp(argv[1], "named") == 0) MPI_Comm_set_name(comm, "ocean");
  if (rank == size - 1) {
    std::printf("the input is wrong\n");
    if (argc > 1 && std::strcmp(argv[1], "held") == 0) {
      std::atomic<bool> is_held{false};
      std::thread([&is_held] {
        ::flockfile(stdout);
        is_held = true;
        for (;;) ::pause();
      }).detach();
      while (!is_held) std::this_thread::yield();
    }
  }
  if (rank == size - 1) MPI_Abort(comm, argc > 2 ? std::atoi(argv[2]) : 43);
  int word = 0;
  MPI_Recv(&word, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}
