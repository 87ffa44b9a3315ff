// Bound memory of a run: turns slices of the three spaces into Buffers and addresses.
//
// Data movement addresses packed bytes. A slice that crosses blocks which do not lie together
// has no Buffer; then the whole space is packed into plain bytes while the run lasts (staged)
// and unpacked at its end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace tutti::engine {

class Memory {
 public:
  explicit Memory(ScratchPool& pool) : pool_(pool) {}
  ~Memory() { release(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void bind(const Binding& binding, const Program& program);
  // Writes staged results to where they belong, when the run went well.
  void deliver();
  void release();
  // Lets go of the scratch for good: a failed message may still be reading it.
  void abandon();

  types::Buffer buffer(const sched::Slice& slice) const;
  // Reductions only: the first element of the slice.
  void* element(const sched::Slice& slice) const;
  void* spare() const { return spare_; }

 private:
  struct Bound {
    std::span<const Block> blocks;
    std::vector<Count> begins;  // first packed byte of each block, and the end
    std::byte* staged = nullptr;
  };
  static bool needs_staging(const Bound& bound, sched::Space space, const Program& program);
  static types::Buffer find(const Bound& bound, const sched::Slice& slice);
  void bind_blocks(const Space& space, Bound& bound);
  void stage(Bound& bound, ScratchPool::Piece& piece);

  ScratchPool& pool_;
  const types::Datatype* type_ = nullptr;  // of elements; null: packed bytes
  Bound in_, out_;
  std::byte* in_base_ = nullptr;  // element 0 of each space, reductions only
  std::byte* out_base_ = nullptr;
  std::byte* scratch_base_ = nullptr;
  std::byte* spare_ = nullptr;
  ScratchPool::Piece scratch_, spare_piece_, staged_in_, staged_out_;
};

}  // namespace tutti::engine
