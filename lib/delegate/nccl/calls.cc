// Which calls NCCL serves, and how they are put to it.
#include <algorithm>

#include "delegate/nccl/nccl_team.h"
#include "delegate/nccl/types.h"

namespace tutti::delegate {

using coll::Collective;

bool serves_on_gpus(const GpuCall& call) {
  const TeamCall& said = call.said;
  if (!coll::has_gpu_library_form(said.collective)) return false;
  if (coll::delegated(said.collective).kind == coll::Delegated::fold)
    return nccl::type_of(*said.type) && nccl::operation_of(*said.op);
  const bool exchanges =
      said.collective == Collective::alltoall || said.collective == Collective::alltoallv;
  return !(exchanges && said.in_place);
}

namespace nccl {
namespace {

std::size_t size_of(Count count) {
  return static_cast<std::size_t>(count);
}

// Calls that begin together, so that none waits for another; the first error counts.
class NcclGroup {
 public:
  explicit NcclGroup(const Functions& nccl)
      : nccl_(nccl), said_(nccl.ncclGroupStart()), is_started_(said_ == ncclSuccess) {}
  template <class Call>
  void add(const Call& call) {
    if (said_ == ncclSuccess) said_ = call();
  }
  ncclResult_t end() const {
    if (!is_started_) return said_;
    const ncclResult_t ended = nccl_.ncclGroupEnd();
    return said_ == ncclSuccess || said_ == ncclInProgress ? ended : said_;
  }

 private:
  const Functions& nccl_;
  ncclResult_t said_;
  const bool is_started_;
};

}  // namespace

ncclResult_t NcclTeam::put(const GpuCall& call, CUstream stream) {
  const TeamCall& said = call.said;
  if (call.has_pieces) return put_pieces(call, stream);
  switch (said.collective) {
    case Collective::bcast:
      return nccl_.ncclBroadcast(said.into.at(), said.into.at(), size_of(said.block), ncclInt8,
                                 said.root, comm_, stream);
    case Collective::allgather: {
      std::byte* const into = said.into.at();
      const std::byte* const from = said.in_place ? into + said.block * place_.me : said.from.at();
      return nccl_.ncclAllGather(from, into, size_of(said.block), ncclInt8, comm_, stream);
    }
    case Collective::reduce:
    case Collective::allreduce:
      return put_fold(said, stream);
    case Collective::reduce_scatter:
      return put_scatter(call, stream);
    default:
      return put_blocks(said, stream);
  }
}

ncclResult_t NcclTeam::put_fold(const TeamCall& call, CUstream stream) {
  const ncclDataType_t type = *type_of(*call.type);
  const ncclRedOp_t op = *operation_of(*call.op);
  const std::size_t count = size_of(call.count);
  if (call.collective == Collective::allreduce)
    return nccl_.ncclAllReduce(call.send, call.recv, count, type, op, comm_, stream);
  return nccl_.ncclReduce(call.send, call.recv, count, type, op, call.root, comm_, stream);
}

// In place NCCL leaves a member's block where it stands in the vector: end_scatter() brings it to
// the front, when all others have read what was there. Unequal blocks are reductions of one group.
ncclResult_t NcclTeam::put_scatter(const GpuCall& call, CUstream stream) {
  const TeamCall& said = call.said;
  const ncclDataType_t type = *type_of(*said.type);
  const ncclRedOp_t op = *operation_of(*said.op);
  const auto* const send = static_cast<const std::byte*>(said.send);
  const Count element = said.type->size();
  if (call.counts.empty()) {
    std::byte* const own =
        const_cast<std::byte*>(send) + said.count * element * static_cast<Count>(place_.me);
    return nccl_.ncclReduceScatter(send, said.in_place ? own : said.recv, size_of(said.count), type,
                                   op, comm_, stream);
  }
  NcclGroup group(nccl_);
  Count at = 0;
  for (int member = 0; member < static_cast<int>(place_.members.size()); ++member) {
    const Count count = call.counts[static_cast<std::size_t>(member)];
    const std::byte* const block = send + at * element;
    void* const into =
        said.in_place || member != place_.me ? const_cast<std::byte*>(block) : said.recv;
    if (count > 0)
      group.add([&] {
        return nccl_.ncclReduce(block, into, size_of(count), type, op, member, comm_, stream);
      });
    at += count;
  }
  return group.end();
}

CUresult NcclTeam::end_scatter(const GpuCall& call, CUstream stream) const {
  const TeamCall& said = call.said;
  if (said.collective != Collective::reduce_scatter || !said.in_place) return CUDA_SUCCESS;
  Count before = said.count * place_.me, count = said.count;
  if (!call.counts.empty()) {
    before = 0;
    for (int member = 0; member < place_.me; ++member)
      before += call.counts[static_cast<std::size_t>(member)];
    count = call.counts[static_cast<std::size_t>(place_.me)];
  }
  if (before == 0 || count == 0) return CUDA_SUCCESS;
  const auto front = reinterpret_cast<CUdeviceptr>(said.recv);
  const std::size_t element = size_of(said.type->size());
  return driver_.cuMemcpyAsync(front, front + size_of(before) * element, size_of(count) * element,
                               stream);
}

// Messages of one group. An own block goes as the others do.
ncclResult_t NcclTeam::put_blocks(const TeamCall& call, CUstream stream) {
  const int size = static_cast<int>(place_.members.size());
  const bool is_root = place_.me == call.root;
  const bool all = call.collective == Collective::alltoall;
  const bool gathers = call.collective == Collective::gather;
  const std::size_t bytes = size_of(call.block);
  const auto moves = [&](int peer) { return !(call.in_place && is_root && peer == place_.me); };
  NcclGroup group(nccl_);
  const auto send = [&](const std::byte* from, int peer) {
    if (moves(peer))
      group.add([&] { return nccl_.ncclSend(from, bytes, ncclInt8, peer, comm_, stream); });
  };
  const auto receive = [&](std::byte* into, int peer) {
    if (moves(peer))
      group.add([&] { return nccl_.ncclRecv(into, bytes, ncclInt8, peer, comm_, stream); });
  };
  if (all || (!gathers && is_root))
    for (int peer = 0; peer < size; ++peer) send(call.from.at() + call.block * peer, peer);
  else if (gathers)
    send(call.from.at(), call.root);
  if (all || (gathers && is_root))
    for (int peer = 0; peer < size; ++peer) receive(call.into.at() + call.block * peer, peer);
  else if (!gathers)
    receive(call.into.at(), call.root);
  return group.end();
}

// As put_blocks(), each of its own size; nothing is sent of a block without bytes.
ncclResult_t NcclTeam::put_pieces(const GpuCall& call, CUstream stream) {
  NcclGroup group(nccl_);
  for (std::size_t i = 0; i < call.gives.size(); ++i)
    if (const GpuCall::Piece& piece = call.gives[i]; piece.bytes > 0)
      group.add([&] {
        return nccl_.ncclSend(piece.at, size_of(piece.bytes), ncclInt8, static_cast<int>(i), comm_,
                              stream);
      });
  for (std::size_t i = 0; i < call.takes.size(); ++i)
    if (const GpuCall::Piece& piece = call.takes[i]; piece.bytes > 0)
      group.add([&] {
        return nccl_.ncclRecv(piece.at, size_of(piece.bytes), ncclInt8, static_cast<int>(i), comm_,
                              stream);
      });
  return group.end();
}

}  // namespace nccl
}  // namespace tutti::delegate
