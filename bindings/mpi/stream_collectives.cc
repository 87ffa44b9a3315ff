// Collectives that go into a stream.
#include <mpi-ext.h>

#include "mpi/call.h"
#include "mpi/calls.h"
#include "mpi/exported.h"
#include "mpi/streams.h"
#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

using enqueue::QueuedCall;

// `good` notes what is wrong with the arguments; `call` is made then.
template <class Good, class Call>
int collective(function::Number number, MPI_Comm on, Good good, Call call) {
  return enqueue_on(number, on, [&](comm::Communicator& comm, enqueue::UserStream& stream) {
    if (!good(comm)) return trouble().code;
    // Who is told of an earlier call's failure makes this one again: it is not counted yet.
    if (const Code code = tell_failure(stream); code != Code::ok) return code;
    Result<QueuedCall> operation = QueuedCall::of_collective(comm, call(comm));
    if (!operation) return note(operation);
    operation->call = kNames[number];
    return put(stream, *operation);
  });
}

bool good_reduction(const types::Datatype* type, MPI_Op handle) {
  const types::Op* const op = op_of(handle);
  return good_op(op, handle, "op") && good_in_reductions(op) && good_op_on(op, type);
}

// What is not significant with this member is neither checked nor passed on, as in ordinary calls:
// between two groups that is all with those beside the root, and there the root gives nothing.
int bcast(void* buffer, Count count, MPI_Datatype handle, int root, MPI_Comm on) {
  const types::Datatype* const type = type_or_nothing(handle, count == 0);
  return collective(
      function::Bcast_enqueue, on,
      [&](comm::Communicator& comm) {
        return good_root(root, &comm) &&
               (is_idle(&comm, root) || good_data({buffer, count, type, handle}, false, "buffer"));
      },
      [&](comm::Communicator& comm) {
        return is_idle(&comm, root) ? call_bcast(nullptr, 0, nullptr, root)
                                    : call_bcast(buffer, count, type, root);
      });
}

struct FoldArguments {
  const void* send;
  void* recv;
  Count count;
  MPI_Datatype type;
  MPI_Op op;
};

int fold(function::Number number, Collective which, const FoldArguments& said, MPI_Comm on) {
  const types::Datatype* const type = type_of(said.type);
  const bool scatters = which == Collective::reduce_scatter;
  return collective(
      number, on,
      [&](comm::Communicator& comm) {
        const Count blocks = scatters ? comm.size() : 1;
        return good_data({said.recv, said.count, type, said.type}, false, "recvbuf") &&
               good_data({said.send, said.count, type, said.type, blocks}, may_be_in_place(&comm),
                         "sendbuf") &&
               good_reduction(type, said.op);
      },
      [&](comm::Communicator&) {
        return scatters
                   ? call_reduce_scatter(said.send, {said.recv, said.count, type}, *op_of(said.op))
                   : call_fold(which, said.send, said.recv, said.count, type, op_of(said.op));
      });
}

int reduce(const FoldArguments& said, int root, MPI_Comm on) {
  const types::Datatype* const type = type_of(said.type);
  return collective(
      function::Reduce_enqueue, on,
      [&](comm::Communicator& comm) {
        if (!good_root(root, &comm)) return false;
        if (is_idle(&comm, root)) return true;
        const bool is_root = tutti::mpi::is_root(&comm, root);
        return (is_idle_or_root(&comm, root) ||
                good_data({said.send, said.count, type, said.type}, is_root, "sendbuf")) &&
               (!is_root ||
                good_data({said.recv, said.count, type, said.type}, false, "recvbuf")) &&
               good_reduction(type, said.op);
      },
      [&](comm::Communicator& comm) {
        if (is_idle(&comm, root)) return call_reduce(nullptr, nullptr, 0, nullptr, nullptr, root);
        const void* const send = is_idle_or_root(&comm, root) ? nullptr : said.send;
        void* const recv = is_root(&comm, root) ? said.recv : nullptr;
        return call_reduce(send, recv, said.count, type, op_of(said.op), root);
      });
}

struct ArrayOfBlocks {
  const void* data;
  Count count;
  MPI_Datatype type;
};

int exchange(function::Number number, Collective which, const ArrayOfBlocks& send,
             const ArrayOfBlocks& recv, MPI_Comm on) {
  const types::Datatype* const send_type = type_or_nothing(send.type, send.count == 0);
  const types::Datatype* const recv_type = type_or_nothing(recv.type, recv.count == 0);
  return collective(
      number, on,
      [&](comm::Communicator& comm) {
        const bool is_in_place = tutti::mpi::is_in_place(send.data) && may_be_in_place(&comm);
        const Count peers = comm.peers().size(), given = which == Collective::alltoall ? peers : 1;
        return (is_in_place || good_data({send.data, send.count, send_type, send.type, given},
                                         false, "sendbuf")) &&
               good_data({recv.data, recv.count, recv_type, recv.type, peers}, false, "recvbuf");
      },
      [&](comm::Communicator&) {
        return call_blocks(which, {send.data, send.count, send_type},
                           {recv.data, recv.count, recv_type});
      });
}

}  // namespace
}  // namespace tutti::mpi

using namespace tutti;       // NOLINT(google-build-using-namespace): C functions
using namespace tutti::mpi;  // NOLINT(google-build-using-namespace): C functions

// Both forms: counts of int, and large ones.
#define TUTTI_BCAST_ENQUEUE(name, CountType)                                              \
  TUTTI_EXPORTED int name(void* buffer, CountType count, MPI_Datatype datatype, int root, \
                          MPI_Comm comm) {                                                \
    return bcast(buffer, count, datatype, root, comm);                                    \
  }
#define TUTTI_REDUCE_ENQUEUE(name, CountType)                                          \
  TUTTI_EXPORTED int name(const void* sendbuf, void* recvbuf, CountType count,         \
                          MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) { \
    return reduce({sendbuf, recvbuf, count, datatype, op}, root, comm);                \
  }
#define TUTTI_ALLREDUCE_ENQUEUE(name, CountType)                               \
  TUTTI_EXPORTED int name(const void* sendbuf, void* recvbuf, CountType count, \
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {   \
    return fold(function::Allreduce_enqueue, Collective::allreduce,            \
                {sendbuf, recvbuf, count, datatype, op}, comm);                \
  }
#define TUTTI_REDUCE_SCATTER_BLOCK_ENQUEUE(name, CountType)                         \
  TUTTI_EXPORTED int name(const void* sendbuf, void* recvbuf, CountType recvcount,  \
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {        \
    return fold(function::Reduce_scatter_block_enqueue, Collective::reduce_scatter, \
                {sendbuf, recvbuf, recvcount, datatype, op}, comm);                 \
  }
#define TUTTI_ALLGATHER_ENQUEUE(name, CountType)                                           \
  TUTTI_EXPORTED int name(const void* sendbuf, CountType sendcount, MPI_Datatype sendtype, \
                          void* recvbuf, CountType recvcount, MPI_Datatype recvtype,       \
                          MPI_Comm comm) {                                                 \
    return exchange(function::Allgather_enqueue, Collective::allgather,                    \
                    {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm); \
  }
#define TUTTI_ALLTOALL_ENQUEUE(name, CountType)                                            \
  TUTTI_EXPORTED int name(const void* sendbuf, CountType sendcount, MPI_Datatype sendtype, \
                          void* recvbuf, CountType recvcount, MPI_Datatype recvtype,       \
                          MPI_Comm comm) {                                                 \
    return exchange(function::Alltoall_enqueue, Collective::alltoall,                      \
                    {sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm); \
  }

TUTTI_BCAST_ENQUEUE(MPIX_Bcast_enqueue, int)
TUTTI_BCAST_ENQUEUE(MPIX_Bcast_enqueue_c, MPI_Count)
TUTTI_REDUCE_ENQUEUE(MPIX_Reduce_enqueue, int)
TUTTI_REDUCE_ENQUEUE(MPIX_Reduce_enqueue_c, MPI_Count)
TUTTI_ALLREDUCE_ENQUEUE(MPIX_Allreduce_enqueue, int)
TUTTI_ALLREDUCE_ENQUEUE(MPIX_Allreduce_enqueue_c, MPI_Count)
TUTTI_REDUCE_SCATTER_BLOCK_ENQUEUE(MPIX_Reduce_scatter_block_enqueue, int)
TUTTI_REDUCE_SCATTER_BLOCK_ENQUEUE(MPIX_Reduce_scatter_block_enqueue_c, MPI_Count)
TUTTI_ALLGATHER_ENQUEUE(MPIX_Allgather_enqueue, int)
TUTTI_ALLGATHER_ENQUEUE(MPIX_Allgather_enqueue_c, MPI_Count)
TUTTI_ALLTOALL_ENQUEUE(MPIX_Alltoall_enqueue, int)
TUTTI_ALLTOALL_ENQUEUE(MPIX_Alltoall_enqueue_c, MPI_Count)

TUTTI_EXPORTED int MPIX_Barrier_enqueue(MPI_Comm comm) {
  return collective(
      function::Barrier_enqueue, comm, [](comm::Communicator&) { return true; },
      [](comm::Communicator&) { return call_barrier(); });
}
