// Chapter 6: persistent collectives: the calls of coll.cc, kept and begun by MPI_Start.
#include "bodies.h"
#include "mpi/calls.h"
#include "mpi/kept_call.h"

namespace tutti::mpi::body {
Code barrier_init(comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_barrier(), request);
}

Code bcast_init(void* buffer, Count count, types::Datatype* datatype, int root,
                comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_bcast(buffer, count, datatype, root), request);
}

Code reduce_init(const void* sendbuf, void* recvbuf, Count count, types::Datatype* datatype,
                 types::Op* op, int root, comm::Communicator& comm, Info* /*info*/,
                 MPI_Request* request) {
  return keep_call(comm, call_reduce(sendbuf, recvbuf, count, datatype, op, root), request);
}

Code allreduce_init(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
                    types::Op& op, comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_fold(Collective::allreduce, sendbuf, recvbuf, count, &datatype, &op),
                   request);
}

Code scan_init(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
               types::Op& op, comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_fold(Collective::scan, sendbuf, recvbuf, count, &datatype, &op),
                   request);
}

Code exscan_init(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
                 types::Op& op, comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_fold(Collective::exscan, sendbuf, recvbuf, count, &datatype, &op),
                   request);
}

Code reduce_scatter_init(const void* sendbuf, void* recvbuf, std::span<const Count> recvcounts,
                         types::Datatype& datatype, types::Op& op, comm::Communicator& comm,
                         Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_reduce_scatter(sendbuf, {recvbuf, 0, &datatype, recvcounts}, op),
                   request);
}

Code reduce_scatter_block_init(const void* sendbuf, void* recvbuf, Count recvcount,
                               types::Datatype& datatype, types::Op& op, comm::Communicator& comm,
                               Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_reduce_scatter(sendbuf, {recvbuf, recvcount, &datatype}, op),
                   request);
}

Code gather_init(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                 Count recvcount, types::Datatype* recvtype, int root, comm::Communicator& comm,
                 Info* /*info*/, MPI_Request* request) {
  return keep_call(comm,
                   call_blocks(Collective::gather, {sendbuf, sendcount, sendtype},
                               {recvbuf, recvcount, recvtype}, root),
                   request);
}

Code gatherv_init(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                  std::span<const Count> recvcounts, std::span<const Count> displs,
                  types::Datatype* recvtype, int root, comm::Communicator& comm, Info* /*info*/,
                  MPI_Request* request) {
  return keep_call(comm,
                   call_blocks(Collective::gatherv, {sendbuf, sendcount, sendtype},
                               {recvbuf, 0, recvtype, recvcounts, displs}, root),
                   request);
}

Code scatter_init(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                  Count recvcount, types::Datatype* recvtype, int root, comm::Communicator& comm,
                  Info* /*info*/, MPI_Request* request) {
  return keep_call(comm,
                   call_blocks(Collective::scatter, {sendbuf, sendcount, sendtype},
                               {recvbuf, recvcount, recvtype}, root),
                   request);
}

Code scatterv_init(const void* sendbuf, std::span<const Count> sendcounts,
                   std::span<const Count> displs, types::Datatype* sendtype, void* recvbuf,
                   Count recvcount, types::Datatype* recvtype, int root, comm::Communicator& comm,
                   Info* /*info*/, MPI_Request* request) {
  return keep_call(comm,
                   call_blocks(Collective::scatterv, {sendbuf, 0, sendtype, sendcounts, displs},
                               {recvbuf, recvcount, recvtype}, root),
                   request);
}

Code allgather_init(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                    Count recvcount, types::Datatype& recvtype, comm::Communicator& comm,
                    Info* /*info*/, MPI_Request* request) {
  return keep_call(comm,
                   call_blocks(Collective::allgather, {sendbuf, sendcount, sendtype},
                               {recvbuf, recvcount, &recvtype}),
                   request);
}

Code allgatherv_init(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                     std::span<const Count> recvcounts, std::span<const Count> displs,
                     types::Datatype& recvtype, comm::Communicator& comm, Info* /*info*/,
                     MPI_Request* request) {
  return keep_call(comm,
                   call_blocks(Collective::allgatherv, {sendbuf, sendcount, sendtype},
                               {recvbuf, 0, &recvtype, recvcounts, displs}),
                   request);
}

Code alltoall_init(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                   Count recvcount, types::Datatype& recvtype, comm::Communicator& comm,
                   Info* /*info*/, MPI_Request* request) {
  return keep_call(comm,
                   call_blocks(Collective::alltoall, {sendbuf, sendcount, sendtype},
                               {recvbuf, recvcount, &recvtype}),
                   request);
}

Code alltoallv_init(const void* sendbuf, std::span<const Count> sendcounts,
                    std::span<const Count> sdispls, types::Datatype* sendtype, void* recvbuf,
                    std::span<const Count> recvcounts, std::span<const Count> rdispls,
                    types::Datatype& recvtype, comm::Communicator& comm, Info* /*info*/,
                    MPI_Request* request) {
  return keep_call(comm,
                   call_blocks(Collective::alltoallv, {sendbuf, 0, sendtype, sendcounts, sdispls},
                               {recvbuf, 0, &recvtype, recvcounts, rdispls}),
                   request);
}

Code alltoallw_init(const void* sendbuf, std::span<const Count> sendcounts,
                    std::span<const Count> sdispls, const MPI_Datatype sendtypes[], void* recvbuf,
                    std::span<const Count> recvcounts, std::span<const Count> rdispls,
                    const MPI_Datatype recvtypes[], comm::Communicator& comm, Info* /*info*/,
                    MPI_Request* request) {
  const TypeList send(sendtypes, sendcounts, "sendtypes");
  const TypeList recv(recvtypes, recvcounts, "recvtypes");
  if (!send.good() || !recv.good()) return trouble().code;
  const comm::CollCall call =
      call_blocks(Collective::alltoallv, {sendbuf, 0, nullptr, sendcounts, sdispls, send.span()},
                  {recvbuf, 0, nullptr, recvcounts, rdispls, recv.span()});
  return keep_call(comm, call, request);
}

}  // namespace tutti::mpi::body
