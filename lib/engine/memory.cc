// Slices to memory.
#include "engine/memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace tutti::engine {
namespace {

types::Buffer message_of(const Block& block) {
  types::Buffer message = block.type == nullptr
                              ? types::Buffer::plain(block.data, block.count)
                              : types::Buffer::whole(block.data, block.count, *block.type);
  message.device = block.device;
  return message;
}

types::Buffer plain_in(const ScratchPool::Piece& piece, Count bytes) {
  types::Buffer buffer = types::Buffer::plain(piece.at, bytes);
  buffer.device = piece.device;
  return buffer;
}

Count bytes_of(const Block& block) {
  return block.type == nullptr ? block.count : block.count * block.type->size();
}

}  // namespace

void BoundMemory::bind_blocks(const SpaceMemory& space, Bound& bound) {
  bound.blocks = space.blocks.empty() ? std::span<const Block>(&space.whole, 1)
                                      : std::span<const Block>(space.blocks);
  bound.begins.resize(bound.blocks.size() + 1);
  Count begin = 0;
  for (std::size_t b = 0; b < bound.blocks.size(); ++b) {
    const Block& block = bound.blocks[b];
    bound.begins[b] = begin;
    begin += bytes_of(block);
    has_devices_ |= block.device != nullptr;
  }
  bound.begins.back() = begin;
}

bool BoundMemory::crosses_blocks(const Bound& bound, sched::Space space, const Program& program) {
  const auto crosses = [&](const sched::Slice& slice) {
    return slice.space == space && slice.count > 0 && find(bound, slice).bytes != slice.count;
  };
  return std::any_of(
      program.schedule.steps.begin(), program.schedule.steps.end(),
      [&](const sched::Step& step) { return crosses(step.from) || crosses(step.into); });
}

void BoundMemory::stage(Bound& bound, ScratchPool::Piece& piece) {
  piece = pool_.take(static_cast<std::size_t>(bound.begins.back()), device_for_blocks());
  bound.staged = plain_in(piece, bound.begins.back());
}

// Both spaces' elements are folded with those in scratch: so it is on their device, if there is
// one only and the folds are its.
types::Device* BoundMemory::device_for_folds(const Binding& binding) const {
  if (!has_devices_) [[likely]]
    return nullptr;
  if (in_device_ != nullptr && out_device_ != nullptr && in_device_ != out_device_) return nullptr;
  const Block& block = in_device_ != nullptr ? binding.in.whole : binding.out.whole;
  return folding_device(message_of(block), *binding.op);
}

// Of all blocks the only device.
types::Device* BoundMemory::device_for_blocks() const {
  if (!has_devices_) [[likely]]
    return nullptr;
  types::Device* found = nullptr;
  for (const Bound* const bound : {&in_, &out_})
    for (const Block& block : bound->blocks) {
      if (block.device == nullptr || block.device == found) continue;
      if (found != nullptr || !block.device->is_usable()) return nullptr;
      found = block.device;
    }
  return found;
}

Code BoundMemory::bind(const Binding& binding, const Program& program) {
  type_ = binding.op != nullptr ? binding.type : nullptr;
  if (type_ != nullptr) {
    in_base_ = static_cast<std::byte*>(binding.in.whole.data);
    out_base_ = static_cast<std::byte*>(binding.out.whole.data);
    in_device_ = binding.in.whole.device;
    out_device_ = binding.out.whole.device;
    has_devices_ = in_device_ != nullptr || out_device_ != nullptr;
    scratch_base_ =
        take_elements(pool_, program.schedule.scratch, *type_, scratch_, device_for_folds(binding));
    const bool swaps = program.most_swapped > 0 && !binding.op->is_commutative();
    spare_ = swaps ? take_elements(pool_, program.most_swapped, *type_, spare_piece_) : nullptr;
    return binding.failure;
  }
  has_devices_ = false;
  bind_blocks(binding.in, in_);
  bind_blocks(binding.out, out_);
  if (const Count scratch = program.schedule.scratch; scratch > 0)
    scratch_ = pool_.take(static_cast<std::size_t>(scratch), device_for_blocks());
  scratch_base_ = scratch_.at;
  const auto stage_if_needed = [&](Bound& bound, sched::Space space, ScratchPool::Piece& piece) {
    if (bound.blocks.size() > 1 && crosses_blocks(bound, space, program)) stage(bound, piece);
  };
  stage_if_needed(in_, sched::Space::in, staged_in_);
  stage_if_needed(out_, sched::Space::out, staged_out_);
  return binding.failure;
}

const std::vector<BoundMemory::Move>& BoundMemory::moves(Moved way) {
  moves_.clear();
  for (const Bound* const bound : {&in_, &out_}) {
    if (bound->staged.data == nullptr || (way == Moved::out && bound == &in_)) continue;
    for (std::size_t b = 0; b < bound->blocks.size(); ++b) {
      const Count bytes = bound->begins[b + 1] - bound->begins[b];
      if (bytes == 0) continue;
      const types::Buffer block = message_of(bound->blocks[b]);
      const types::Buffer packed = bound->staged.part(bound->begins[b], bytes);
      moves_.push_back(way == Moved::in ? Move{block, packed} : Move{packed, block});
    }
  }
  return moves_;
}

void BoundMemory::release() {
  for (ScratchPool::Piece* piece : {&scratch_, &spare_piece_, &staged_in_, &staged_out_})
    if (piece->at != nullptr) pool_.give(std::exchange(*piece, {}));
  in_.staged.data = out_.staged.data = nullptr;
}

void BoundMemory::abandon() {
  for (ScratchPool::Piece* piece : {&scratch_, &staged_in_, &staged_out_})
    pool_.abandon(std::exchange(*piece, {}));
  release();
}

// The packed range as a message; shorter than the slice when that crosses blocks apart.
types::Buffer BoundMemory::find(const Bound& bound, const sched::Slice& slice) {
  const auto after = std::upper_bound(bound.begins.begin(), bound.begins.end() - 1, slice.offset);
  const auto first = static_cast<std::size_t>(after - bound.begins.begin()) - 1;
  const Count within = slice.offset - bound.begins[first];
  const types::Buffer start = message_of(bound.blocks[first]);
  if (within + slice.count <= start.bytes) return start.part(within, slice.count);
  if (!start.is_one_run()) return start.part(within, start.bytes - within);
  // Blocks that follow one another in memory serve as one.
  std::byte* const begin = start.at() + within;
  Count found = start.bytes - within;
  for (std::size_t b = first + 1; b < bound.blocks.size() && found < slice.count; ++b) {
    const types::Buffer next = message_of(bound.blocks[b]);
    if (next.bytes == 0) continue;
    if (!next.is_one_run() || next.at() != begin + found || next.device != start.device) break;
    found += next.bytes;
  }
  types::Buffer joined = types::Buffer::plain(begin, std::min(found, slice.count));
  joined.device = start.device;
  return joined;
}

types::Buffer BoundMemory::buffer(const sched::Slice& slice) const {
  if (slice.count == 0) return types::Buffer::plain(nullptr, 0);
  if (type_ != nullptr) {
    types::Buffer elements = types::Buffer::whole(element(slice), slice.count, *type_);
    elements.device = device_of(slice.space);
    return elements;
  }
  if (slice.space == sched::Space::scratch) {
    types::Buffer plain = types::Buffer::plain(scratch_base_ + slice.offset, slice.count);
    plain.device = scratch_.device;
    return plain;
  }
  const Bound& bound = slice.space == sched::Space::in ? in_ : out_;
  if (bound.staged.data != nullptr) return bound.staged.part(slice.offset, slice.count);
  const types::Buffer found = find(bound, slice);
  TUTTI_CHECK(found.bytes == slice.count, "slice of " + std::to_string(slice.count) + " units at " +
                                              std::to_string(slice.offset) +
                                              " lies outside its space");
  return found;
}

void* BoundMemory::element(const sched::Slice& slice) const {
  std::byte* const base = slice.space == sched::Space::in    ? in_base_
                          : slice.space == sched::Space::out ? out_base_
                                                             : scratch_base_;
  return base + slice.offset * type_->extent();
}

}  // namespace tutti::engine
