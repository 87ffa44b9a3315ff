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

// What is sent from, where it was packed aside, and how that went.
struct PackedAside {
  std::unique_ptr<std::byte[]> bytes;
  Code failure = Code::ok;
};

// The request is done when both are; its status is the receive's. `packed` is freed with it. Where
// packing failed, so does the request, and the peer is told instead of sent to.
comm::Request* start_exchange(comm::Communicator& comm, const ExchangeSide& send,
                              const ExchangeSide& receive, PackedAside packed);

}  // namespace tutti::mpi
