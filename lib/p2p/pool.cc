// Pools: free lists by size class, and slabs of transfers.
#include "p2p/pool.h"

#include <bit>
#include <new>

#include "base/check.h"
#include "p2p/core.h"
#include "p2p/transfer.h"

namespace tutti::p2p {
namespace {

std::size_t class_of(std::size_t bytes) {
  const std::size_t rounded =
      std::bit_ceil(bytes < BytePool::kSmallest ? BytePool::kSmallest : bytes);
  return static_cast<std::size_t>(std::countr_zero(rounded) -
                                  std::countr_zero(BytePool::kSmallest));
}

}  // namespace

BytePool::~BytePool() {
  for (Free* each : free_)
    while (each != nullptr) {
      Free* next = each->next;
      ::operator delete(each);
      each = next;
    }
}

void* BytePool::take(std::size_t bytes) {
  const std::size_t kind = class_of(bytes);
  Free* const block = kind < kClasses ? free_[kind] : nullptr;
  if (block == nullptr) {
    void* const fresh = ::operator new(kind < kClasses ? kSmallest << kind : bytes);
    in_use_ += bytes;
    return fresh;
  }
  in_use_ += bytes;
  free_[kind] = block->next;
  kept_ -= kSmallest << kind;
  return block;
}

void BytePool::give(void* block, std::size_t bytes) {
  in_use_ -= bytes;
  const std::size_t kind = class_of(bytes);
  const std::size_t size = kSmallest << kind;
  if (kind >= kClasses || kept_ + size > kMostKept) return ::operator delete(block);
  free_[kind] = new (block) Free{free_[kind]};
  kept_ += size;
}

void BytePool::stock(std::size_t count, std::size_t bytes) {
  const std::size_t kind = class_of(bytes);
  if (kind >= kClasses) return;
  for (Free** each = &free_[kind]; count > 0; --count, each = &(*each)->next) {
    if (*each != nullptr) continue;
    *each = new (::operator new(kSmallest << kind)) Free{nullptr};
    kept_ += kSmallest << kind;
  }
}

TransferPool::TransferPool(Core* core) : core_(core) {}
TransferPool::~TransferPool() = default;

void TransferPool::extend() {
  free_.reserve(count() + kSlab);  // give() finds room
  core_->make_room_for(count() + kSlab);
  slabs_.push_back(std::make_unique<Transfer[]>(kSlab));
  const std::uint32_t first = count() - kSlab;
  for (std::uint32_t i = kSlab; i-- > 0;) {
    Transfer& each = slabs_.back()[i];
    each.id = first + i;
    each.core = core_;
    each.pin.transfer = &each;
    each.pin.fire = &Core::on_pin;
    free_.push_back(&each);
  }
}

Transfer& TransferPool::stock() {
  if (free_.empty()) [[unlikely]]
    extend();
  return *free_.back();
}

Transfer* TransferPool::take() {
  if (free_.empty()) [[unlikely]]
    extend();
  Transfer* const transfer = free_.back();
  free_.pop_back();
  return transfer;
}

void TransferPool::give(Transfer* transfer) {
  transfer->phase = Phase::unused;
  free_.push_back(transfer);
}

Transfer* TransferPool::find(std::uint32_t id) const {
  return id < count() ? &slabs_[id / kSlab][id % kSlab] : nullptr;
}

}  // namespace tutti::p2p
