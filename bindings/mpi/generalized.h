// Generalized requests (MPI 5.0, 13.2): the user completes them, and is asked for their status.
#pragma once

#include "mpi/objects.h"

namespace tutti::mpi {

struct GeneralizedCalls {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  void* extra;
};

comm::Request* start_generalized(comm::Communicator& comm, const GeneralizedCalls& calls);

}  // namespace tutti::mpi
