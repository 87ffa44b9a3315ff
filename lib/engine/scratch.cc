// Scratch memory that stays warm: fresh pages of a long vector cost more than folding it.
#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "engine/engine.h"

namespace tutti::engine {
namespace {

constexpr std::size_t kMostKept = std::size_t{64} << 20;  // bytes that lie idle at most
constexpr std::size_t kLeast = 4096;

}  // namespace

ScratchPool::Piece ScratchPool::take(std::size_t bytes, types::Device* device) {
  if (bytes == 0) return {};
  if (device != nullptr)
    if (std::byte* const at = device->take_scratch(bytes); at != nullptr)
      return {at, device, nullptr, 0};
  // The smallest that serves, unless it is far too large.
  auto best = free_.end();
  for (auto piece = free_.begin(); piece != free_.end(); ++piece)
    if (piece->bytes >= bytes && piece->bytes <= 8 * std::max(bytes, kLeast) &&
        (best == free_.end() || piece->bytes < best->bytes))
      best = piece;
  if (best == free_.end()) {
    const std::size_t size = std::max(bytes, kLeast);
    std::unique_ptr<std::byte[]> memory(new std::byte[size]);
    // A signal's byte is sent as it lies there (coll/barrier).
    if (size == kLeast) std::memset(memory.get(), 0, size);
    std::byte* const at = memory.get();
    return {at, nullptr, std::move(memory), size};
  }
  Piece piece = std::move(*best);
  kept_ -= piece.bytes;
  if (best != free_.end() - 1) *best = std::move(free_.back());
  free_.pop_back();
  return piece;
}

void ScratchPool::give(Piece piece) {
  if (piece.device != nullptr) return piece.device->give_scratch(piece.at);
  if (piece.bytes == 0) return;
  while (!free_.empty() && kept_ + piece.bytes > kMostKept) {
    kept_ -= free_.back().bytes;
    free_.pop_back();
  }
  if (piece.bytes > kMostKept) return;
  const std::size_t bytes = piece.bytes;
  try {
    free_.push_back(std::move(piece));
  } catch (const std::bad_alloc&) {  // then it is not kept
    return;
  }
  kept_ += bytes;
}

void ScratchPool::abandon(Piece piece) {
  // A device keeps what is not given back.
  if (piece.bytes == 0) return;
  try {
    abandoned_.push_back(std::move(piece));
  } catch (const std::bad_alloc&) {  // nobody frees it, not even at the end
    static_cast<void>(piece.memory.release());
  }
}

// Elements are spaced by their extent; the first one's address may lie outside the memory when
// the true lower bound is not zero (MPI 5.0, 5.1.8).
std::byte* take_elements(ScratchPool& pool, Count count, const types::Datatype& type,
                         ScratchPool::Piece& piece, types::Device* device) {
  if (count == 0) return nullptr;
  Count stride = 0, bytes = 0;
  if (__builtin_mul_overflow(count - 1, type.extent(), &stride) ||
      __builtin_add_overflow(std::max(stride, -stride), type.true_extent(), &bytes))
    bytes = std::numeric_limits<Count>::max();  // there is never so much
  const Count lowest = std::min<Count>(0, stride) + type.true_lower_bound();
  constexpr std::uintptr_t kAlignment = 64;
  piece = pool.take(static_cast<std::size_t>(bytes) + kAlignment, device);
  // Element 0 is aligned, whatever lies before it.
  const auto earliest =
      reinterpret_cast<std::uintptr_t>(piece.at) - static_cast<std::uintptr_t>(lowest);
  return reinterpret_cast<std::byte*>((earliest + kAlignment - 1) / kAlignment * kAlignment);
}

types::Device* folding_device(const types::Buffer& buffer, const types::Op& op) {
  if (buffer.device == nullptr || buffer.count == 0 || !buffer.device->is_usable()) return nullptr;
  return buffer.device->folds({&op, buffer, buffer}) ? buffer.device : nullptr;
}

}  // namespace tutti::engine
