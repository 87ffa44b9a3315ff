// Which calls NCCL serves, and how they are put to it.
#include "delegate/nccl/nccl_team.h"
#include "delegate/nccl/words.h"

namespace tutti::delegate {

using coll::Collective;

bool serves_on_gpus(const TeamCall& call) {
  switch (call.collective) {
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::reduce_scatter:
      return nccl::type_of(*call.type) && nccl::operation_of(*call.op);
    case Collective::bcast:
    case Collective::gather:
    case Collective::scatter:
    case Collective::allgather:
      return true;
    case Collective::alltoall:
      return !call.in_place;
    default:
      return false;
  }
}

namespace nccl {
namespace {

std::size_t size_of(Count count) {
  return static_cast<std::size_t>(count);
}

}  // namespace

ncclResult_t NcclTeam::put(const TeamCall& call) {
  switch (call.collective) {
    case Collective::bcast:
      return nccl_.ncclBroadcast(call.into.at(), call.into.at(), size_of(call.block), ncclInt8,
                                 call.root, comm_, stream_);
    case Collective::allgather: {
      std::byte* const into = call.into.at();
      const std::byte* const from = call.in_place ? into + call.block * place_.me : call.from.at();
      return nccl_.ncclAllGather(from, into, size_of(call.block), ncclInt8, comm_, stream_);
    }
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::reduce_scatter:
      return put_fold(call);
    default:
      return put_blocks(call);
  }
}

ncclResult_t NcclTeam::put_fold(const TeamCall& call) {
  const ncclDataType_t type = *type_of(*call.type);
  const ncclRedOp_t op = *operation_of(*call.op);
  const std::size_t count = size_of(call.count);
  if (call.collective == Collective::allreduce)
    return nccl_.ncclAllReduce(call.send, call.recv, count, type, op, comm_, stream_);
  if (call.collective == Collective::reduce)
    return nccl_.ncclReduce(call.send, call.recv, count, type, op, call.root, comm_, stream_);
  return nccl_.ncclReduceScatter(call.send, call.recv, count, type, op, comm_, stream_);
}

// Messages of one group. An own block goes as the others do.
ncclResult_t NcclTeam::put_blocks(const TeamCall& call) {
  const int size = static_cast<int>(place_.members.size());
  const bool is_root = place_.me == call.root;
  const bool all = call.collective == Collective::alltoall;
  const bool gathers = call.collective == Collective::gather;
  const std::size_t bytes = size_of(call.block);
  const auto moves = [&](int peer) { return !(call.in_place && is_root && peer == place_.me); };
  ncclResult_t said = nccl_.ncclGroupStart();
  const auto send = [&](const std::byte* from, int peer) {
    if (said == ncclSuccess && moves(peer))
      said = nccl_.ncclSend(from, bytes, ncclInt8, peer, comm_, stream_);
  };
  const auto receive = [&](std::byte* into, int peer) {
    if (said == ncclSuccess && moves(peer))
      said = nccl_.ncclRecv(into, bytes, ncclInt8, peer, comm_, stream_);
  };
  if (all || (!gathers && is_root))
    for (int peer = 0; peer < size; ++peer) send(call.from.at() + call.block * peer, peer);
  else if (gathers)
    send(call.from.at(), call.root);
  if (all || (gathers && is_root))
    for (int peer = 0; peer < size; ++peer) receive(call.into.at() + call.block * peer, peer);
  else if (!gathers)
    receive(call.into.at(), call.root);
  const ncclResult_t ended = nccl_.ncclGroupEnd();
  return said == ncclSuccess || said == ncclInProgress ? ended : said;
}

}  // namespace nccl
}  // namespace tutti::delegate
