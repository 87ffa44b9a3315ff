// killed: a rank of two is killed while messages go both ways.
#pragma once

#include <chrono>
#include <csignal>
#include <thread>

#include "area.h"

namespace gpu {

// `exchange` sends and receives, again and again. In round `last` rank `dying` is killed after
// `delay`, while copies take longer than that (STANDIN_CUDA_DELAY_US); the other gets an error, and
// goes on.
template <class Exchange>
void until_killed(int dying, int last, std::chrono::milliseconds delay, const Exchange& exchange) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int code = MPI_SUCCESS, error_class = 0;
  for (int round = 0; code == MPI_SUCCESS; ++round) {
    if (ranks::rank == dying && round == last)
      std::thread([delay] {
        std::this_thread::sleep_for(delay);
        std::raise(SIGKILL);
      }).detach();
    code = exchange();
  }
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_PROC_ABORTED);
  std::printf("rank %d goes on\n", ranks::rank);
}

}  // namespace gpu
