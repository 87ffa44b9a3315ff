// Shape of a collective call: a user's call in the units of schedules. Pure.
//
// Reductions count elements of their type; data movement counts packed bytes, so that two ranks
// who describe the same bytes by different types agree.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/comm.h"
#include "engine/engine.h"

namespace tutti::comm {

struct CallShape {
  coll::Collective collective = coll::Collective::barrier;
  bool reduces = false;
  bool in_place = false;      // as the emitter sees it
  bool copies_first = false;  // in place, but its emitters need an `in`: a copy serves
  int root = 0;
  Count count = 0;            // units
  Count bytes = 0;            // what algorithms are chosen by; alike on all ranks
  std::vector<Count> counts;  // units, where this rank knows them
  std::vector<Count> send_counts;
  const types::Op* op = nullptr;
  const types::Datatype* type = nullptr;  // of a reduction
};

bool is_reduction(coll::Collective collective);
inline const types::Datatype* type_of_reduction(const CollCall& call) {
  return call.recv_type != nullptr ? call.recv_type : call.send_type;
}
// v forms and reduce_scatter: blocks of their own sizes.
bool has_counts(coll::Collective collective);

CallShape shape_of(const Communicator& comm, const CollCall& call);

// No type: none.
inline Count packed_bytes(Count count, const types::Datatype* type) {
  return type == nullptr ? 0 : count * type->size();
}
inline Count total_of(const std::vector<Count>& counts) {
  Count total = 0;
  for (const Count count : counts) total += count;
  return total;
}
// Packed bytes of blocks: of one type, or (w forms) of a type each.
std::vector<Count> byte_counts(std::span<const Count> counts, const types::Datatype* type,
                               std::span<const types::Datatype* const> types);
// Bytes between a rank and itself; equal where a call says them once.
struct OwnPart {
  Count given = 0, taken = 0;
};
OwnPart own_part(const Communicator& comm, const CollCall& call);
// What is wrong where a rank gives itself more (truncate) or less (count) than it takes from itself
// (MPI 5.0, 6.5 to 6.8). Schedules and the delegate move that part and do not ask again.
Code own_part_failure(const Communicator& comm, const CollCall& call);
std::string own_part_words(OwnPart own);
inline bool is_of_own_part(Code failure) {
  return failure == Code::truncate || failure == Code::count;
}
// One side of a call as a space: `equal` blocks of `count`, or blocks of their own sizes.
struct CallSide {
  const void* data;
  Count count;
  const types::Datatype* type;
  std::span<const Count> counts, displs;
  std::span<const types::Datatype* const> types;
  Count equal;
};
void bind_side(const CallSide& side, engine::SpaceMemory& space);

// Binds spaces to the call's buffers (schedules built for the shape). `temporary` holds the copy
// of an in-place call that needs one; it must live as long as the run.
void bind_spaces(const Communicator& comm, const CollCall& call, const CallShape& shape,
                 engine::Binding& binding, engine::ScratchPool::Piece& temporary);

}  // namespace tutti::comm
