// Ranks that end by exit() while threads of theirs are in MPI: in messages that come and go, in a
// barrier, and in a receive that nothing comes for. With a word, after MPI_Finalize, where the last
// of these is still in its call.
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kStatus = 3;
constexpr useconds_t kMoment_us = 50'000;

void pass_on(MPI_Comm comm, int count) {
  std::vector<char> given(static_cast<std::size_t>(count)), taken(given.size());
  for (;;) {
    MPI_Sendrecv(given.data(), count, MPI_BYTE, (rank + 1) % size, 1, taken.data(), count, MPI_BYTE,
                 (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
  }
}

void wait_for_ever(MPI_Comm comm) {
  int word = 0;
  MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** /*argv*/) {
  begin(MPI_THREAD_MULTIPLE);
  std::vector<MPI_Comm> comms(3);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::thread(wait_for_ever, comms[0]).detach();
  if (argc == 1) {
    std::thread(pass_on, comms[1], 8).detach();
    std::thread(pass_on, comms[2], 200'000).detach();
  }
  ::usleep(kMoment_us);
  if (argc > 1) MPI_Finalize();
  std::exit(kStatus);
}
