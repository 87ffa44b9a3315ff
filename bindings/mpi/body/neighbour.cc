// Chapter 8: neighbourhood collectives: the calls of coll.cc among the neighbours of a topology.
#include "bodies.h"
#include "mpi/calls.h"
#include "mpi/kept_call.h"
#include "mpi/requests.h"

namespace tutti::mpi::body {
namespace {

// Displacements of the w forms are addresses in both count forms.
std::span<const Count> displacements(const MPI_Aint* displs, std::size_t size) {
  return {reinterpret_cast<const Count*>(displs), displs == nullptr ? 0 : size};
}

}  // namespace

Code neighbor_allgather(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                        void* recvbuf, Count recvcount, types::Datatype& recvtype,
                        comm::Communicator& comm) {
  const comm::CollCall call = call_neighbours(
      Collective::allgather, {sendbuf, sendcount, &sendtype}, {recvbuf, recvcount, &recvtype});
  return comm::run(comm, call);
}

Code neighbor_allgatherv(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                         void* recvbuf, std::span<const Count> recvcounts,
                         std::span<const Count> displs, types::Datatype& recvtype,
                         comm::Communicator& comm) {
  const comm::CollCall call =
      call_neighbours(Collective::allgatherv, {sendbuf, sendcount, &sendtype},
                      {recvbuf, 0, &recvtype, recvcounts, displs});
  return comm::run(comm, call);
}

Code neighbor_alltoall(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                       void* recvbuf, Count recvcount, types::Datatype& recvtype,
                       comm::Communicator& comm) {
  const comm::CollCall call = call_neighbours(Collective::alltoall, {sendbuf, sendcount, &sendtype},
                                              {recvbuf, recvcount, &recvtype});
  return comm::run(comm, call);
}

Code neighbor_alltoallv(const void* sendbuf, std::span<const Count> sendcounts,
                        std::span<const Count> sdispls, types::Datatype& sendtype, void* recvbuf,
                        std::span<const Count> recvcounts, std::span<const Count> rdispls,
                        types::Datatype& recvtype, comm::Communicator& comm) {
  const comm::CollCall call =
      call_neighbours(Collective::alltoallv, {sendbuf, 0, &sendtype, sendcounts, sdispls},
                      {recvbuf, 0, &recvtype, recvcounts, rdispls});
  return comm::run(comm, call);
}

Code neighbor_alltoallw(const void* sendbuf, std::span<const Count> sendcounts,
                        const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                        std::span<const Count> recvcounts, const MPI_Aint rdispls[],
                        const MPI_Datatype recvtypes[], comm::Communicator& comm) {
  const TypeList send(sendtypes, sendcounts, "sendtypes");
  const TypeList recv(recvtypes, recvcounts, "recvtypes");
  if (!send.good() || !recv.good()) return trouble().code;
  const comm::CollCall call = call_neighbours(
      Collective::alltoallv,
      {sendbuf, 0, nullptr, sendcounts, displacements(sdispls, sendcounts.size()), send.span()},
      {recvbuf, 0, nullptr, recvcounts, displacements(rdispls, recvcounts.size()), recv.span()});
  return comm::run(comm, call);
}

Code ineighbor_allgather(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                         void* recvbuf, Count recvcount, types::Datatype& recvtype,
                         comm::Communicator& comm, MPI_Request* request) {
  const comm::CollCall call = call_neighbours(
      Collective::allgather, {sendbuf, sendcount, &sendtype}, {recvbuf, recvcount, &recvtype});
  return give_request(comm::start(comm, call), request);
}

Code ineighbor_allgatherv(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                          void* recvbuf, std::span<const Count> recvcounts,
                          std::span<const Count> displs, types::Datatype& recvtype,
                          comm::Communicator& comm, MPI_Request* request) {
  const comm::CollCall call =
      call_neighbours(Collective::allgatherv, {sendbuf, sendcount, &sendtype},
                      {recvbuf, 0, &recvtype, recvcounts, displs});
  return give_request(comm::start(comm, call), request);
}

Code ineighbor_alltoall(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                        void* recvbuf, Count recvcount, types::Datatype& recvtype,
                        comm::Communicator& comm, MPI_Request* request) {
  const comm::CollCall call = call_neighbours(Collective::alltoall, {sendbuf, sendcount, &sendtype},
                                              {recvbuf, recvcount, &recvtype});
  return give_request(comm::start(comm, call), request);
}

Code ineighbor_alltoallv(const void* sendbuf, std::span<const Count> sendcounts,
                         std::span<const Count> sdispls, types::Datatype& sendtype, void* recvbuf,
                         std::span<const Count> recvcounts, std::span<const Count> rdispls,
                         types::Datatype& recvtype, comm::Communicator& comm,
                         MPI_Request* request) {
  const comm::CollCall call =
      call_neighbours(Collective::alltoallv, {sendbuf, 0, &sendtype, sendcounts, sdispls},
                      {recvbuf, 0, &recvtype, recvcounts, rdispls});
  return give_request(comm::start(comm, call), request);
}

Code ineighbor_alltoallw(const void* sendbuf, std::span<const Count> sendcounts,
                         const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                         std::span<const Count> recvcounts, const MPI_Aint rdispls[],
                         const MPI_Datatype recvtypes[], comm::Communicator& comm,
                         MPI_Request* request) {
  const TypeList send(sendtypes, sendcounts, "sendtypes");
  const TypeList recv(recvtypes, recvcounts, "recvtypes");
  if (!send.good() || !recv.good()) return trouble().code;
  const comm::CollCall call = call_neighbours(
      Collective::alltoallv,
      {sendbuf, 0, nullptr, sendcounts, displacements(sdispls, sendcounts.size()), send.span()},
      {recvbuf, 0, nullptr, recvcounts, displacements(rdispls, recvcounts.size()), recv.span()});
  return give_request(comm::start(comm, call), request);
}

Code neighbor_allgather_init(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                             void* recvbuf, Count recvcount, types::Datatype& recvtype,
                             comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  const comm::CollCall call = call_neighbours(
      Collective::allgather, {sendbuf, sendcount, &sendtype}, {recvbuf, recvcount, &recvtype});
  return keep_call(comm, call, request);
}

Code neighbor_allgatherv_init(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                              void* recvbuf, std::span<const Count> recvcounts,
                              std::span<const Count> displs, types::Datatype& recvtype,
                              comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  const comm::CollCall call =
      call_neighbours(Collective::allgatherv, {sendbuf, sendcount, &sendtype},
                      {recvbuf, 0, &recvtype, recvcounts, displs});
  return keep_call(comm, call, request);
}

Code neighbor_alltoall_init(const void* sendbuf, Count sendcount, types::Datatype& sendtype,
                            void* recvbuf, Count recvcount, types::Datatype& recvtype,
                            comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  const comm::CollCall call = call_neighbours(Collective::alltoall, {sendbuf, sendcount, &sendtype},
                                              {recvbuf, recvcount, &recvtype});
  return keep_call(comm, call, request);
}

Code neighbor_alltoallv_init(const void* sendbuf, std::span<const Count> sendcounts,
                             std::span<const Count> sdispls, types::Datatype& sendtype,
                             void* recvbuf, std::span<const Count> recvcounts,
                             std::span<const Count> rdispls, types::Datatype& recvtype,
                             comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  const comm::CollCall call =
      call_neighbours(Collective::alltoallv, {sendbuf, 0, &sendtype, sendcounts, sdispls},
                      {recvbuf, 0, &recvtype, recvcounts, rdispls});
  return keep_call(comm, call, request);
}

Code neighbor_alltoallw_init(const void* sendbuf, std::span<const Count> sendcounts,
                             const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                             void* recvbuf, std::span<const Count> recvcounts,
                             const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                             comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  const TypeList send(sendtypes, sendcounts, "sendtypes");
  const TypeList recv(recvtypes, recvcounts, "recvtypes");
  if (!send.good() || !recv.good()) return trouble().code;
  const comm::CollCall call = call_neighbours(
      Collective::alltoallv,
      {sendbuf, 0, nullptr, sendcounts, displacements(sdispls, sendcounts.size()), send.span()},
      {recvbuf, 0, nullptr, recvcounts, displacements(rdispls, recvcounts.size()), recv.span()});
  return keep_call(comm, call, request);
}

}  // namespace tutti::mpi::body
