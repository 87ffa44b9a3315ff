// For the programs that cancel: what became of a request, which is completed.
#pragma once

#include "check.h"

inline bool is_cancelled(MPI_Request* request) {
  MPI_Status status;
  int flag = -1;
  MPI_Wait(request, &status);
  MPI_Test_cancelled(&status, &flag);
  return flag != 0;
}
