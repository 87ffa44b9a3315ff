// Chapter 6: persistent collectives: the calls of coll.cc, kept and begun by MPI_Start.
#include <memory>

#include "bodies.h"
#include "mpi/calls.h"
#include "mpi/persistent.h"

namespace tutti::mpi::body {
namespace {

// A call with what it points to: its arrays, types and operation.
struct KeptCall {
  explicit KeptCall(const comm::CollCall& from)
      : call(from),
        send_counts(from.send_counts.begin(), from.send_counts.end()),
        send_displs(from.send_displs.begin(), from.send_displs.end()),
        recv_counts(from.recv_counts.begin(), from.recv_counts.end()),
        recv_displs(from.recv_displs.begin(), from.recv_displs.end()),
        send_type(Ref<const types::Datatype>::share(from.send_type)),
        recv_type(Ref<const types::Datatype>::share(from.recv_type)),
        op(Ref<const types::Op>::share(from.op)) {
    call.send_counts = send_counts;
    call.send_displs = send_displs;
    call.recv_counts = recv_counts;
    call.recv_displs = recv_displs;
  }
  KeptCall(const KeptCall&) = delete;
  KeptCall& operator=(const KeptCall&) = delete;

  comm::CollCall call;
  std::vector<Count> send_counts, send_displs, recv_counts, recv_displs;
  Ref<const types::Datatype> send_type, recv_type;
  Ref<const types::Op> op;
};

Code keep_call(comm::Communicator& comm, const comm::CollCall& call, MPI_Request* request) {
  const auto kept = std::make_shared<const KeptCall>(call);
  return give_persistent(
      comm, [kept, &comm] { return comm::start(comm, kept->call); }, request);
}

}  // namespace

Code barrier_init(comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_barrier(), request);
}

Code bcast_init(void* buffer, Count count, types::Datatype& datatype, int root,
                comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_bcast(buffer, count, datatype, root), request);
}

Code reduce_init(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
                 types::Op& op, int root, comm::Communicator& comm, Info* /*info*/,
                 MPI_Request* request) {
  return keep_call(comm, call_reduce(sendbuf, recvbuf, count, datatype, op, root), request);
}

Code allreduce_init(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
                    types::Op& op, comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_fold(Collective::allreduce, sendbuf, recvbuf, count, datatype, op),
                   request);
}

Code scan_init(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
               types::Op& op, comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_fold(Collective::scan, sendbuf, recvbuf, count, datatype, op),
                   request);
}

Code exscan_init(const void* sendbuf, void* recvbuf, Count count, types::Datatype& datatype,
                 types::Op& op, comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  return keep_call(comm, call_fold(Collective::exscan, sendbuf, recvbuf, count, datatype, op),
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

}  // namespace tutti::mpi::body
