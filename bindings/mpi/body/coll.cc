// Chapter 6: collectives. Each is described once as a CollCall (calls.h); blocking runs it.
#include "bodies.h"
#include "mpi/calls.h"

namespace tutti::mpi::body {

Code barrier(comm::Communicator& comm) {
  return comm::run(comm, call_barrier());
}

Code bcast(void* buffer, Count count, types::Datatype* datatype, int root,
           comm::Communicator& comm) {
  return comm::run(comm, call_bcast(buffer, count, datatype, root));
}

Code reduce(const void* sendbuf, void* recvbuf, Count count, types::Datatype* datatype,
            types::Op* op, int root, comm::Communicator& comm) {
  return comm::run(comm, call_reduce(sendbuf, recvbuf, count, datatype, op, root));
}

Code allreduce(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
               types::Op& op, comm::Communicator& comm) {
  return comm::run(comm, call_fold(Collective::allreduce, sendbuf, recvbuf, count, &datatype, &op));
}

Code scan(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype, types::Op& op,
          comm::Communicator& comm) {
  return comm::run(comm, call_fold(Collective::scan, sendbuf, recvbuf, count, &datatype, &op));
}

Code exscan(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
            types::Op& op, comm::Communicator& comm) {
  return comm::run(comm, call_fold(Collective::exscan, sendbuf, recvbuf, count, &datatype, &op));
}

Code reduce_scatter(const void* sendbuf, void* recvbuf, std::span<const Count> recvcounts,
                    types::Datatype& datatype, types::Op& op, comm::Communicator& comm) {
  return comm::run(comm, call_reduce_scatter(sendbuf, {recvbuf, 0, &datatype, recvcounts}, op));
}

Code reduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount,
                          types::Datatype& datatype, types::Op& op, comm::Communicator& comm) {
  return comm::run(comm, call_reduce_scatter(sendbuf, {recvbuf, recvcount, &datatype}, op));
}

Code gather(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
            Count recvcount, types::Datatype* recvtype, int root, comm::Communicator& comm) {
  return comm::run_blocks(comm, call_blocks(Collective::gather, {sendbuf, sendcount, sendtype},
                                            {recvbuf, recvcount, recvtype}, root));
}

Code gatherv(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
             std::span<const Count> recvcounts, std::span<const Count> displs,
             types::Datatype* recvtype, int root, comm::Communicator& comm) {
  return comm::run_blocks(comm, call_blocks(Collective::gatherv, {sendbuf, sendcount, sendtype},
                                            {recvbuf, 0, recvtype, recvcounts, displs}, root));
}

Code scatter(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
             Count recvcount, types::Datatype* recvtype, int root, comm::Communicator& comm) {
  return comm::run_blocks(comm, call_blocks(Collective::scatter, {sendbuf, sendcount, sendtype},
                                            {recvbuf, recvcount, recvtype}, root));
}

Code scatterv(const void* sendbuf, std::span<const Count> sendcounts, std::span<const Count> displs,
              types::Datatype* sendtype, void* recvbuf, Count recvcount, types::Datatype* recvtype,
              int root, comm::Communicator& comm) {
  return comm::run_blocks(
      comm, call_blocks(Collective::scatterv, {sendbuf, 0, sendtype, sendcounts, displs},
                        {recvbuf, recvcount, recvtype}, root));
}

Code allgather(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
               Count recvcount, types::Datatype& recvtype, comm::Communicator& comm) {
  return comm::run_blocks(comm, call_blocks(Collective::allgather, {sendbuf, sendcount, sendtype},
                                            {recvbuf, recvcount, &recvtype}));
}

Code allgatherv(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
                std::span<const Count> recvcounts, std::span<const Count> displs,
                types::Datatype& recvtype, comm::Communicator& comm) {
  return comm::run_blocks(comm, call_blocks(Collective::allgatherv, {sendbuf, sendcount, sendtype},
                                            {recvbuf, 0, &recvtype, recvcounts, displs}));
}

Code alltoall(const void* sendbuf, Count sendcount, types::Datatype* sendtype, void* recvbuf,
              Count recvcount, types::Datatype& recvtype, comm::Communicator& comm) {
  return comm::run_blocks(comm, call_blocks(Collective::alltoall, {sendbuf, sendcount, sendtype},
                                            {recvbuf, recvcount, &recvtype}));
}

Code alltoallv(const void* sendbuf, std::span<const Count> sendcounts,
               std::span<const Count> sdispls, types::Datatype* sendtype, void* recvbuf,
               std::span<const Count> recvcounts, std::span<const Count> rdispls,
               types::Datatype& recvtype, comm::Communicator& comm) {
  return comm::run_blocks(
      comm, call_blocks(Collective::alltoallv, {sendbuf, 0, sendtype, sendcounts, sdispls},
                        {recvbuf, 0, &recvtype, recvcounts, rdispls}));
}

Code alltoallw(const void* sendbuf, std::span<const Count> sendcounts,
               std::span<const Count> sdispls, const MPI_Datatype sendtypes[], void* recvbuf,
               std::span<const Count> recvcounts, std::span<const Count> rdispls,
               const MPI_Datatype recvtypes[], comm::Communicator& comm) {
  const TypeList send(sendtypes, sendcounts, "sendtypes");
  const TypeList recv(recvtypes, recvcounts, "recvtypes");
  if (!send.good() || !recv.good()) return trouble().code;
  const comm::CollCall call =
      call_blocks(Collective::alltoallv, {sendbuf, 0, nullptr, sendcounts, sdispls, send.span()},
                  {recvbuf, 0, nullptr, recvcounts, rdispls, recv.span()});
  return comm::run_blocks(comm, call);
}

}  // namespace tutti::mpi::body
