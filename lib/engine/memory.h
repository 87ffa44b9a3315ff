// Bound memory of a run: turns slices of the three spaces into Buffers and addresses.
//
// Data movement addresses packed bytes. A slice that crosses blocks which do not lie together
// has no Buffer; then the whole space lies in plain bytes while the run lasts (staged), moved in
// before its first step and out after its last (staging.cc).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace tutti::engine {

class BoundMemory {
 public:
  explicit BoundMemory(ScratchPool& pool) : pool_(pool) {}
  ~BoundMemory() { release(); }
  BoundMemory(const BoundMemory&) = delete;
  BoundMemory& operator=(const BoundMemory&) = delete;

  // Nothing is bound before.
  Code bind(const Binding& binding, const Program& program);
  // What is to be copied of staged spaces: from their blocks, or back to those of the results.
  struct Move {
    types::Buffer from, into;
  };
  enum class Moved : std::uint8_t { in, out };
  bool is_staged() const { return in_.staged.data != nullptr || out_.staged.data != nullptr; }
  const std::vector<Move>& moves(Moved way);
  void release();
  // Lets go of the scratch for good: messages may still use it.
  void abandon();

  types::Buffer buffer(const sched::Slice& slice) const;
  // Reductions only: the first element of the slice.
  void* element(const sched::Slice& slice) const;
  // Whether its elements are not in the host's memory. Reductions only.
  bool is_on_device(const sched::Slice& slice) const {
    return has_devices_ && slice.count > 0 && device_of(slice.space) != nullptr;
  }
  void* spare() const { return spare_; }

 private:
  struct Bound {
    std::span<const Block> blocks;
    std::vector<Count> begins;  // first packed byte of each block, and the end
    types::Buffer staged;       // null address: it is not
  };
  static bool crosses_blocks(const Bound& bound, sched::Space space, const Program& program);
  static types::Buffer find(const Bound& bound, const sched::Slice& slice);
  void bind_blocks(const SpaceMemory& space, Bound& bound);
  void stage(Bound& bound, ScratchPool::Piece& piece);
  types::Device* device_for_folds(const Binding& binding) const;
  types::Device* device_for_blocks() const;

  ScratchPool& pool_;
  const types::Datatype* type_ = nullptr;  // of elements; null: packed bytes
  Bound in_, out_;
  types::Device* device_of(sched::Space space) const {
    if (space == sched::Space::scratch) return scratch_.device;
    return space == sched::Space::in ? in_device_ : out_device_;
  }
  types::Device *in_device_ = nullptr, *out_device_ = nullptr;  // reductions only
  bool has_devices_ = false;                                    // any block lies on one
  std::byte* in_base_ = nullptr;  // element 0 of each space, reductions only
  std::byte* out_base_ = nullptr;
  std::byte* scratch_base_ = nullptr;
  std::byte* spare_ = nullptr;
  std::vector<Move> moves_;
  ScratchPool::Piece scratch_, spare_piece_, staged_in_, staged_out_;
};

}  // namespace tutti::engine
