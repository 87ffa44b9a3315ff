// Chapter 6: nonblocking collectives: the same calls as in coll.cc, started instead of run.
#include "bodies.h"
#include "mpi/calls.h"
#include "mpi/requests.h"

namespace tutti::mpi::body {

Code ibarrier(comm::Communicator& comm, MPI_Request* request) {
  return give_request(comm::start(comm, call_barrier()), request);
}

Code ibcast(void* buffer, Count count, types::Datatype* datatype, int root,
            comm::Communicator& comm, MPI_Request* request) {
  return give_request(comm::start(comm, call_bcast(buffer, count, datatype, root)), request);
}

Code ireduce(const void* sendbuf, void* recvbuf, Count count, types::Datatype* datatype,
             types::Op* op, int root, comm::Communicator& comm, MPI_Request* request) {
  return give_request(comm::start(comm, call_reduce(sendbuf, recvbuf, count, datatype, op, root)),
                      request);
}

Code iallreduce(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
                types::Op& op, comm::Communicator& comm, MPI_Request* request) {
  return give_request(
      comm::start(comm, call_fold(Collective::allreduce, sendbuf, recvbuf, count, &datatype, &op)),
      request);
}

Code iscan(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
           types::Op& op, comm::Communicator& comm, MPI_Request* request) {
  return give_request(
      comm::start(comm, call_fold(Collective::scan, sendbuf, recvbuf, count, &datatype, &op)),
      request);
}

Code iexscan(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
             types::Op& op, comm::Communicator& comm, MPI_Request* request) {
  return give_request(
      comm::start(comm, call_fold(Collective::exscan, sendbuf, recvbuf, count, &datatype, &op)),
      request);
}

Code ireduce_scatter(const void* sendbuf, void* recvbuf, std::span<const Count> recvcounts,
                     types::Datatype& datatype, types::Op& op, comm::Communicator& comm,
                     MPI_Request* request) {
  return give_request(
      comm::start(comm, call_reduce_scatter(sendbuf, {recvbuf, 0, &datatype, recvcounts}, op)),
      request);
}

Code ireduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount,
                           types::Datatype& datatype, types::Op& op, comm::Communicator& comm,
                           MPI_Request* request) {
  return give_request(
      comm::start(comm, call_reduce_scatter(sendbuf, {recvbuf, recvcount, &datatype}, op)),
      request);
}

Code igather(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
             Count recvcount, types::Datatype* recvtype, int root, comm::Communicator& comm,
             MPI_Request* request) {
  return give_request(
      comm::start(comm, call_blocks(Collective::gather, {sendbuf, sendcount, sendtype},
                                    {recvbuf, recvcount, recvtype}, root)),
      request);
}

Code igatherv(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
              std::span<const Count> recvcounts, std::span<const Count> displs,
              types::Datatype* recvtype, int root, comm::Communicator& comm, MPI_Request* request) {
  return give_request(
      comm::start(comm, call_blocks(Collective::gatherv, {sendbuf, sendcount, sendtype},
                                    {recvbuf, 0, recvtype, recvcounts, displs}, root)),
      request);
}

Code iscatter(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
              Count recvcount, types::Datatype* recvtype, int root, comm::Communicator& comm,
              MPI_Request* request) {
  return give_request(
      comm::start(comm, call_blocks(Collective::scatter, {sendbuf, sendcount, sendtype},
                                    {recvbuf, recvcount, recvtype}, root)),
      request);
}

Code iscatterv(const void* sendbuf, std::span<const Count> sendcounts,
               std::span<const Count> displs, types::Datatype* sendtype, void* recvbuf,
               Count recvcount, types::Datatype* recvtype, int root, comm::Communicator& comm,
               MPI_Request* request) {
  return give_request(comm::start(comm, call_blocks(Collective::scatterv,
                                                    {sendbuf, 0, sendtype, sendcounts, displs},
                                                    {recvbuf, recvcount, recvtype}, root)),
                      request);
}

Code iallgather(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                Count recvcount, types::Datatype& recvtype, comm::Communicator& comm,
                MPI_Request* request) {
  return give_request(
      comm::start(comm, call_blocks(Collective::allgather, {sendbuf, sendcount, sendtype},
                                    {recvbuf, recvcount, &recvtype})),
      request);
}

Code iallgatherv(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                 std::span<const Count> recvcounts, std::span<const Count> displs,
                 types::Datatype& recvtype, comm::Communicator& comm, MPI_Request* request) {
  return give_request(
      comm::start(comm, call_blocks(Collective::allgatherv, {sendbuf, sendcount, sendtype},
                                    {recvbuf, 0, &recvtype, recvcounts, displs})),
      request);
}

Code ialltoall(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
               Count recvcount, types::Datatype& recvtype, comm::Communicator& comm,
               MPI_Request* request) {
  return give_request(
      comm::start(comm, call_blocks(Collective::alltoall, {sendbuf, sendcount, sendtype},
                                    {recvbuf, recvcount, &recvtype})),
      request);
}

Code ialltoallv(const void* sendbuf, std::span<const Count> sendcounts,
                std::span<const Count> sdispls, types::Datatype* sendtype, void* recvbuf,
                std::span<const Count> recvcounts, std::span<const Count> rdispls,
                types::Datatype& recvtype, comm::Communicator& comm, MPI_Request* request) {
  return give_request(comm::start(comm, call_blocks(Collective::alltoallv,
                                                    {sendbuf, 0, sendtype, sendcounts, sdispls},
                                                    {recvbuf, 0, &recvtype, recvcounts, rdispls})),
                      request);
}

Code ialltoallw(const void* sendbuf, std::span<const Count> sendcounts,
                std::span<const Count> sdispls, const MPI_Datatype sendtypes[], void* recvbuf,
                std::span<const Count> recvcounts, std::span<const Count> rdispls,
                const MPI_Datatype recvtypes[], comm::Communicator& comm, MPI_Request* request) {
  const TypeList send(sendtypes, sendcounts, "sendtypes");
  const TypeList recv(recvtypes, recvcounts, "recvtypes");
  if (!send.good() || !recv.good()) return trouble().code;
  const comm::CollCall call =
      call_blocks(Collective::alltoallv, {sendbuf, 0, nullptr, sendcounts, sdispls, send.span()},
                  {recvbuf, 0, nullptr, recvcounts, rdispls, recv.span()});
  return give_request(comm::start(comm, call), request);
}

}  // namespace tutti::mpi::body
