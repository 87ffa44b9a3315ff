// What the programs of long messages and of long blocks have in common: two threads, and an end.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "check.h"

namespace ranks {

// Each on a communicator of its own, at once.
template <class First, class Second>
void in_two_threads(const First& first, const Second& second) {
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::thread beside([&] { second(comms[1]); });
  first(comms[0]);
  beside.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

// Of this rank, while it goes on.
inline std::thread killer() {
  return std::thread([] {
    ::usleep(100'000);
    ::kill(::getpid(), SIGKILL);
  });
}

// Calls until one fails, which says that another rank is dead; `line` then says that this was so.
template <class Call>
int until_another_is_dead(bool is_told, const char* line, const Call& call) {
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) code = call();
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_PROC_ABORTED);
  if (failures == 0 && is_told) std::puts(line);
  std::fflush(stdout);  // MPI_Finalize says that a rank is missing, and ends this one
  return done();
}

}  // namespace ranks
