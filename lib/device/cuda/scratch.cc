// Cutting blocks up, and putting them together again.
#include "device/cuda/scratch.h"

#include <algorithm>
#include <utility>

namespace tutti::device::cuda {
namespace {

constexpr std::size_t kGrain = 512;  // as the driver aligns what it allocates
constexpr unsigned kPassed = 64;

}  // namespace

// The smallest that serves.
GpuScratch::Place GpuScratch::find_free(std::size_t bytes) {
  auto best = pieces_.end();
  for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece)
    if (!piece->is_taken && piece->bytes >= bytes &&
        (best == pieces_.end() || piece->bytes < best->bytes))
      best = piece;
  return best;
}

bool GpuScratch::grow(std::size_t bytes) {
  const std::size_t block = std::max(bytes, kLeastBlock);
  if (held_ > kMost || block > kMost - held_) return false;
  if (to_pass_ > 0) {
    --to_pass_;
    return false;
  }
  pieces_.reserve(pieces_.size() + 2);  // what is cut off it, too: from here on nothing throws
  CUdeviceptr memory = 0;
  if (driver_.cuMemAlloc(&memory, block) != CUDA_SUCCESS) {
    to_pass_ = kPassed;
    return false;
  }
  pieces_.push_back({reinterpret_cast<std::byte*>(memory), block, true, false});
  held_ += block;
  return true;
}

std::byte* GpuScratch::take(std::size_t bytes, bool may_grow) {
  if (bytes > kMost) return nullptr;
  bytes = (bytes + kGrain - 1) / kGrain * kGrain;
  pieces_.reserve(pieces_.size() + 1);
  auto piece = find_free(bytes);
  if (piece == pieces_.end()) {
    if (!may_grow || !grow(bytes)) return nullptr;
    piece = pieces_.end() - 1;
  }
  piece->is_taken = true;
  std::byte* const at = piece->at;
  const std::size_t left = std::exchange(piece->bytes, bytes) - bytes;
  if (left > 0) pieces_.insert(piece + 1, {at + bytes, left, false, false});
  return at;
}

void GpuScratch::give(std::byte* at) {
  auto piece = std::find_if(pieces_.begin(), pieces_.end(),
                            [at](const Piece& each) { return each.at == at && each.is_taken; });
  if (piece == pieces_.end()) return;
  piece->is_taken = false;
  const auto join_next = [this](Place first) {
    const auto next = first + 1;
    if (next == pieces_.end() || next->is_taken || next->begins_block) return;
    first->bytes += next->bytes;
    pieces_.erase(next);
  };
  join_next(piece);
  if (!piece->begins_block && !(piece - 1)->is_taken) join_next(piece - 1);
}

void GpuScratch::close() {
  for (const Piece& piece : pieces_)
    if (piece.begins_block) driver_.cuMemFree(reinterpret_cast<CUdeviceptr>(piece.at));
  pieces_.clear();
  held_ = 0;
}

}  // namespace tutti::device::cuda
