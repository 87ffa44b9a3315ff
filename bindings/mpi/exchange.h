// A send and a receive behind one request (MPI 5.0, 3.10: MPI_Isendrecv and its replacing form).
#pragma once

#include <memory>

#include "mpi/objects.h"

namespace tutti::mpi {

// One side of an exchange: with whom, under which tag, from or to where.
struct ExchangeSide {
  void* data;
  Count count;
  types::Datatype* type;
  int peer;
  int tag;
};

// The request is done when both are; its status is the receive's. `packed` (may be null) is what
// is sent from, freed with the request.
comm::Request* start_exchange(comm::Communicator& comm, const ExchangeSide& send,
                              const ExchangeSide& receive, std::unique_ptr<std::byte[]> packed);

}  // namespace tutti::mpi
