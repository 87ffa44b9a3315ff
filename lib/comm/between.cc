// Collectives of intercommunicators in the units of schedules (coll.h: build_between).
//
// Schedules name ranks of both groups together; their list of job ranks is in the state.
#include "comm/fingerprint.h"
#include "comm/scheduled.h"

namespace tutti::comm {
namespace {

using coll::Collective;

bool is_root(const CollCall& call) {
  return call.root == kRoot;
}

std::vector<Count> equal(Count count, const types::Datatype* type, int blocks) {
  const Count each = type == nullptr ? 0 : count * type->size();
  return std::vector<Count>(static_cast<std::size_t>(blocks), each);
}

std::vector<Count> sent_blocks(const Communicator& comm, const CollCall& call) {
  if (!call.send_counts.empty())
    return byte_counts(call.send_counts, call.send_type, call.send_types);
  return equal(call.send_count, call.send_type, comm.peers().size());
}
std::vector<Count> received_blocks(const Communicator& comm, const CollCall& call) {
  if (!call.recv_counts.empty())
    return byte_counts(call.recv_counts, call.recv_type, call.recv_types);
  return equal(call.recv_count, call.recv_type, comm.peers().size());
}

void shape_fold(const Communicator& comm, const CollCall& call, CallShape& shape) {
  shape.reduces = true;
  shape.op = call.op;
  shape.type = type_of_reduction(call);
  shape.count = call.recv_type != nullptr ? call.recv_count : call.send_count;
  if (call.collective == Collective::reduce_scatter) {
    shape.counts.assign(call.recv_counts.begin(), call.recv_counts.end());
    if (shape.counts.empty())
      shape.counts.assign(static_cast<std::size_t>(comm.size()), shape.count);
    shape.count = total_of(shape.counts);
  }
  shape.bytes = packed_bytes(shape.count, shape.type);
}

// The rank of the root among both groups; -1: another rank of its group.
int joint_root(const Communicator& comm, int root) {
  const int own_first = comm.is_first() ? 0 : comm.peers().size();
  const int other_first = comm.is_first() ? comm.size() : 0;
  if (root == kProcNull) return -1;
  return root == kRoot ? own_first + comm.rank() : other_first + root;
}

CallShape shape_between(const Communicator& comm, const CollCall& call) {
  CallShape shape;
  shape.collective = call.collective;
  // Without a root both sides say the same: nothing.
  shape.root = has_root(call.collective) ? joint_root(comm, call.root) : 0;
  if (call.collective == Collective::barrier || shape.root < 0) return shape;
  if (is_reduction(call.collective)) {
    shape_fold(comm, call, shape);
    return shape;
  }
  switch (call.collective) {
    case Collective::bcast:
      shape.count = shape.bytes = packed_bytes(call.recv_count, call.recv_type);
      break;
    case Collective::gather:
    case Collective::gatherv:
      if (is_root(call)) shape.counts = received_blocks(comm, call);
      shape.count = packed_bytes(call.send_count, call.send_type);
      break;
    case Collective::scatter:
    case Collective::scatterv:
      if (is_root(call)) shape.counts = sent_blocks(comm, call);
      shape.count = packed_bytes(call.recv_count, call.recv_type);
      break;
    case Collective::allgather:
    case Collective::allgatherv:
      shape.counts = received_blocks(comm, call);
      shape.count = packed_bytes(call.send_count, call.send_type);
      break;
    default:  // alltoall and its v and w forms
      shape.counts = received_blocks(comm, call);
      shape.send_counts = sent_blocks(comm, call);
      break;
  }
  return shape;
}

Result<std::shared_ptr<Prepared>> prepare_between(Communicator& comm, const CallShape& shape,
                                                  const select::Choice*) {
  constexpr Count kSegmentBytes = 128 << 10;  // a leader hands on one while the next comes
  coll::RankCall call;
  call.collective = shape.collective;
  call.first_group = comm.is_first() ? comm.size() : comm.peers().size();
  call.size = comm.size() + comm.peers().size();
  call.rank = comm.rank() + (comm.is_first() ? 0 : call.first_group);
  call.root = shape.root;
  call.count = shape.count;
  call.counts = shape.counts;
  call.send_counts = shape.send_counts;
  call.commutative = shape.op == nullptr || shape.op->is_commutative();
  // Both groups know the size of these, and cut alike.
  if (shape.reduces || shape.collective == Collective::bcast) {
    const Count unit = shape.reduces ? std::max<Count>(1, shape.type->size()) : 1;
    if (shape.bytes > 2 * kSegmentBytes) call.segment = std::max<Count>(1, kSegmentBytes / unit);
  }
  const CountsKey key{{nullptr, call.count, call.segment, call.root, false, call.commutative},
                      call.collective,
                      shape.counts,
                      shape.send_counts};
  if (auto kept = find_kept(comm, key)) return kept;
  TUTTI_TRY(made, coll::build_between(call));
  return keep(comm, key, std::move(made));
}

void bind_between(const Communicator& comm, const CollCall& call, const CallShape& shape,
                  engine::Binding& binding, engine::ScratchPool::Piece&) {
  const std::vector<int>& joint = comm.state().joint;
  binding.peers = joint;
  binding.rank = comm.rank() + (comm.is_first() ? 0 : comm.peers().size());
  if (call.collective == Collective::barrier || shape.root < 0) return;
  if (shape.reduces) {
    binding.op = shape.op;
    binding.type = shape.type;
    const bool has_root = call.collective == Collective::reduce;  // who takes, and gives nothing
    if (!has_root || !is_root(call))
      binding.in.whole = {const_cast<void*>(call.send), shape.count, shape.type};
    if (!has_root || is_root(call)) binding.out.whole = {call.recv, shape.count, shape.type};
    return;
  }
  const Count others = comm.peers().size();
  const auto is_one_of = [&](Collective a, Collective b) {
    return call.collective == a || call.collective == b;
  };
  const bool scatters = is_one_of(Collective::scatter, Collective::scatterv);
  const bool gathers = is_one_of(Collective::gather, Collective::gatherv);
  const bool all_to_all = is_one_of(Collective::alltoall, Collective::alltoallv);
  const bool all_gather = is_one_of(Collective::allgather, Collective::allgatherv);
  if (call.collective != Collective::bcast && (!scatters || is_root(call)) &&
      !(gathers && is_root(call)))
    bind_side({call.send, call.send_count, call.send_type, call.send_counts, call.send_displs,
               call.send_types, scatters || all_to_all ? others : 1},
              binding.in);
  if ((!gathers || is_root(call)) && !(scatters && is_root(call)))
    bind_side({call.recv, call.recv_count, call.recv_type, call.recv_counts, call.recv_displs,
               call.recv_types, gathers || all_to_all || all_gather ? others : 1},
              binding.out);
}

}  // namespace

const CallSetting kBetween{&shape_between, &prepare_between, &bind_between,
                           [](const CollCall& call, const CallShape& shape) {
                             return fingerprint_of(call.collective, nullptr, 0, shape.bytes);
                           }};

}  // namespace tutti::comm
