// From user calls to units, and from spaces to user memory.
#include "comm/shape.h"

#include <utility>

#include "comm/fingerprint.h"
#include "comm/runtime.h"

namespace tutti::comm {
namespace {

using coll::Collective;
using engine::Block;

void shape_reduction(const Communicator& comm, const CollCall& call, CallShape& shape) {
  shape.reduces = true;
  shape.op = call.op;
  shape.type = type_of_reduction(call);
  shape.count = call.recv_type != nullptr ? call.recv_count : call.send_count;
  if (call.collective == Collective::reduce_scatter) {
    if (call.recv_counts.empty())
      shape.counts.assign(static_cast<std::size_t>(comm.size()), shape.count);
    else
      shape.counts.assign(call.recv_counts.begin(), call.recv_counts.end());
    shape.count = total_of(shape.counts);
    shape.copies_first = call.in_place;
  } else {
    shape.copies_first = call.in_place && call.collective == Collective::exscan;
    shape.in_place = call.in_place && !shape.copies_first;
  }
  shape.bytes = packed_bytes(shape.count, shape.type);
}

// gatherv and scatterv: only the root knows all blocks; the others know their own.
void shape_rooted_blocks(const Communicator& comm, const CollCall& call, CallShape& shape) {
  const bool gathers = call.collective == Collective::gatherv;
  const bool is_root = comm.rank() == call.root;
  shape.in_place = call.in_place && is_root;
  if (is_root) {
    shape.counts = gathers ? byte_counts(call.recv_counts, call.recv_type, call.recv_types)
                           : byte_counts(call.send_counts, call.send_type, call.send_types);
    shape.count = shape.counts[static_cast<std::size_t>(comm.rank())];
  } else {
    shape.count = gathers ? packed_bytes(call.send_count, call.send_type)
                          : packed_bytes(call.recv_count, call.recv_type);
  }
}

void shape_movement(const Communicator& comm, const CollCall& call, CallShape& shape) {
  const bool is_root = comm.rank() == call.root;
  const auto me = static_cast<std::size_t>(comm.rank());
  switch (call.collective) {
    case Collective::gather:
      shape.in_place = call.in_place && is_root;
      shape.count = is_root ? packed_bytes(call.recv_count, call.recv_type)
                            : packed_bytes(call.send_count, call.send_type);
      break;
    case Collective::scatter:
      shape.in_place = call.in_place && is_root;
      shape.count = is_root ? packed_bytes(call.send_count, call.send_type)
                            : packed_bytes(call.recv_count, call.recv_type);
      break;
    case Collective::alltoall:
      shape.copies_first = call.in_place;
      shape.count = packed_bytes(call.recv_count, call.recv_type);
      break;
    case Collective::alltoallv:
      shape.copies_first = call.in_place;
      shape.counts = byte_counts(call.recv_counts, call.recv_type, call.recv_types);
      shape.send_counts = call.in_place
                              ? shape.counts
                              : byte_counts(call.send_counts, call.send_type, call.send_types);
      if (is_of_own_part(call.failure)) shape.send_counts[me] = shape.counts[me];
      return;  // nobody knows the whole: algorithms are chosen without bytes
    case Collective::allgatherv:
      shape.in_place = call.in_place;
      shape.counts = byte_counts(call.recv_counts, call.recv_type, call.recv_types);
      shape.count = shape.counts[me];
      shape.bytes = total_of(shape.counts) / comm.size();
      return;
    case Collective::gatherv:
    case Collective::scatterv:
      return shape_rooted_blocks(comm, call, shape);
    default:  // bcast, allgather
      shape.in_place = call.in_place;
      shape.count = packed_bytes(call.recv_count, call.recv_type);
      break;
  }
  shape.bytes = shape.count;
}

// Blocks at displacements: in extents of the type, or (w forms) in bytes.
void bind_blocks(const CallSide& side, engine::SpaceMemory& space) {
  space.blocks.clear();
  space.blocks.reserve(side.counts.size());
  space.are_absolute = side.data == nullptr;
  auto* const base = static_cast<std::byte*>(const_cast<void*>(side.data));
  for (std::size_t b = 0; b < side.counts.size(); ++b) {
    const types::Datatype* const type = side.types.empty() ? side.type : side.types[b];
    const Count unit = side.types.empty() ? type->extent() : 1;
    space.blocks.push_back({base + side.displs[b] * unit, side.counts[b], type});
  }
}

void bind_movement(const Communicator& comm, const CollCall& call, engine::Binding& binding) {
  const Count size = comm.size();
  const bool is_root = comm.rank() == call.root;
  void* const send = const_cast<void*>(call.send);  // the engine never writes `in`
  Block in{send, call.send_count, call.send_type};
  Block out{call.recv, call.recv_count, call.recv_type};
  switch (call.collective) {
    case Collective::bcast:
      in = {};
      break;
    case Collective::gather:
      out.count = is_root ? call.recv_count * size : 0;
      break;
    case Collective::scatter:
      in.count = is_root ? call.send_count * size : 0;
      break;
    case Collective::allgather:
      out.count *= size;
      break;
    case Collective::alltoall:
      in.count *= size;
      out.count *= size;
      break;
    default:  // v forms
      if (!call.send_counts.empty())
        bind_blocks(
            {call.send, 0, call.send_type, call.send_counts, call.send_displs, call.send_types, 0},
            binding.in);
      if (!call.recv_counts.empty())
        bind_blocks(
            {call.recv, 0, call.recv_type, call.recv_counts, call.recv_displs, call.recv_types, 0},
            binding.out);
      break;
  }
  const bool scatters =
      call.collective == Collective::scatter || call.collective == Collective::scatterv;
  // In place the root of a scatter has no `out`; everybody else has no `in`.
  if (in.type != nullptr && !(call.in_place && !scatters)) binding.in.whole = in;
  if (out.type != nullptr && !(call.in_place && scatters)) binding.out.whole = out;
}

// All blocks one after another, in the memory of the device that the first lies on.
void copy_blocks(const types::Devices& devices, Count bytes, engine::Binding& binding,
                 engine::ScratchPool& pool, engine::ScratchPool::Piece& temporary) {
  types::Buffer copies;
  Count to = 0;
  const auto copy_block = [&](const Block& block) {
    if (packed_bytes(block.count, block.type) == 0) return;
    const types::Buffer own = devices.whole(block.data, block.count, *block.type,
                                            block.data == nullptr || binding.out.are_absolute);
    if (to == 0) {
      temporary = pool.take(static_cast<std::size_t>(bytes), own.device);
      copies = types::Buffer::plain(temporary.at, bytes);
      copies.device = temporary.device;
    }
    const types::Buffer copy = copies.part(std::exchange(to, to + own.bytes), own.bytes);
    types::copy(own, copy);
    if (const Code failure = types::failure_of(own, copy); failure != Code::ok)
      binding.failure = failure;
  };
  if (binding.out.blocks.empty()) copy_block(binding.out.whole);
  for (const Block& block : binding.out.blocks) copy_block(block);
  binding.in.blocks.clear();
  binding.in.whole = {temporary.at, bytes, nullptr};
}

// In place where the emitters want an `in`: the contribution is copied out of `recv` first.
void copy_first(const Communicator& comm, const CollCall& call, const CallShape& shape,
                engine::Binding& binding, engine::ScratchPool::Piece& temporary) {
  engine::ScratchPool& pool = comm.runtime().scratch;
  const types::Devices& devices = comm.runtime().devices;
  binding.failure = Code::ok;
  if (shape.reduces) {
    if (shape.count == 0) return;
    const types::Buffer own = devices.whole(call.recv, shape.count, *shape.type);
    void* const place = engine::take_elements(pool, shape.count, *shape.type, temporary,
                                              engine::folding_device(own, *shape.op));
    types::Buffer copy = types::Buffer::whole(place, shape.count, *shape.type);
    copy.device = temporary.device;
    types::copy(own, copy);
    binding.failure = types::failure_of(own, copy);
    binding.in.whole = {place, shape.count, shape.type};
    return;
  }
  const Count bytes =
      call.collective == Collective::alltoall ? shape.count * comm.size() : total_of(shape.counts);
  copy_blocks(devices, bytes, binding, pool, temporary);
}

// Who is given nothing may have any address there, and of memory that is gone.
bool is_given(const Communicator& comm, const CollCall& call, const CallShape& shape) {
  const auto me = static_cast<std::size_t>(comm.rank());
  if (call.collective == Collective::reduce) return comm.rank() == call.root;
  if (call.collective == Collective::exscan) return me > 0;
  return call.collective != Collective::reduce_scatter || shape.counts[me] > 0;
}

// One side of a call: the block between this rank and itself.
Count own_bytes(const Communicator& comm, Count count, const types::Datatype* type,
                std::span<const Count> counts, std::span<const types::Datatype* const> types) {
  const auto mine = static_cast<std::size_t>(comm.rank());
  return packed_bytes(counts.empty() ? count : counts[mine], types.empty() ? type : types[mine]);
}

}  // namespace

std::vector<Count> byte_counts(std::span<const Count> counts, const types::Datatype* type,
                               std::span<const types::Datatype* const> types) {
  std::vector<Count> bytes;
  bytes.reserve(counts.size());
  for (std::size_t b = 0; b < counts.size(); ++b)
    bytes.push_back(packed_bytes(counts[b], types.empty() ? type : types[b]));
  return bytes;
}

void bind_side(const CallSide& side, engine::SpaceMemory& space) {
  if (!side.counts.empty())
    bind_blocks(side, space);
  else if (side.type != nullptr)
    space.whole = {const_cast<void*>(side.data), side.count * side.equal, side.type};
}

bool is_reduction(Collective collective) {
  return collective == Collective::reduce || collective == Collective::allreduce ||
         collective == Collective::reduce_scatter || collective == Collective::scan ||
         collective == Collective::exscan;
}

bool has_counts(Collective collective) {
  return collective == Collective::gatherv || collective == Collective::scatterv ||
         collective == Collective::allgatherv || collective == Collective::alltoallv ||
         collective == Collective::reduce_scatter;
}

OwnPart own_part(const Communicator& comm, const CollCall& call) {
  const bool gives = call.send_type != nullptr || !call.send_types.empty();
  if (!gives || call.op != nullptr || call.in_place || call.neighbours || comm.is_inter())
    return {};
  if (has_root(call.collective) && comm.rank() != call.root) return {};
  return {own_bytes(comm, call.send_count, call.send_type, call.send_counts, call.send_types),
          own_bytes(comm, call.recv_count, call.recv_type, call.recv_counts, call.recv_types)};
}

Code own_part_failure(const Communicator& comm, const CollCall& call) {
  const OwnPart own = own_part(comm, call);
  if (own.given == own.taken) return Code::ok;
  return own.given > own.taken ? Code::truncate : Code::count;
}

std::string own_part_words(OwnPart own) {
  return "count and type of what this rank sends to itself and takes from itself differ in "
         "bytes: " +
         std::to_string(own.given) + " and " + std::to_string(own.taken);
}

CallShape shape_of(const Communicator& comm, const CollCall& call) {
  CallShape shape;
  shape.collective = call.collective;
  shape.root = call.root;
  if (call.collective == Collective::barrier) return shape;
  if (is_reduction(call.collective))
    shape_reduction(comm, call, shape);
  else
    shape_movement(comm, call, shape);
  return shape;
}

void bind_spaces(const Communicator& comm, const CollCall& call, const CallShape& shape,
                 engine::Binding& binding, engine::ScratchPool::Piece& temporary) {
  if (call.collective == Collective::barrier) return;
  if (shape.reduces) {
    binding.op = shape.op;
    binding.type = shape.type;
    if (!call.in_place) binding.in.whole = {const_cast<void*>(call.send), shape.count, shape.type};
    if (is_given(comm, call, shape)) binding.out.whole = {call.recv, shape.count, shape.type};
  } else {
    bind_movement(comm, call, binding);
  }
  if (shape.copies_first) copy_first(comm, call, shape, binding, temporary);
}

}  // namespace tutti::comm
