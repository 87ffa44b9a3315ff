// Pools of the endpoint: bytes for messages nobody asked for yet, and transfers.
//
// BytePool keeps freed blocks by size class, up to kMostKept bytes in all; the rest goes back
// to the heap at once, so one flood does not stay in memory for ever. TransferPool never gives
// memory back: it is as large as the most requests that were pending at one time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tutti::p2p {

class Core;
struct Transfer;

class BytePool {
 public:
  static constexpr std::size_t kMostKept = std::size_t{8} << 20;
  static constexpr std::size_t kSmallest = 128;
  // 128 bytes to 1 MiB, more than a frame that is delivered at once; longer: the heap.
  static constexpr std::size_t kClasses = 14;

  BytePool() = default;
  BytePool(const BytePool&) = delete;
  BytePool& operator=(const BytePool&) = delete;
  ~BytePool();

  void* take(std::size_t bytes);
  void give(void* block, std::size_t bytes);  // with the size it was taken with
  // So many blocks of that size are there for the next who take some. Above 1 MiB: nothing.
  void stock(std::size_t count, std::size_t bytes);
  std::size_t kept() const { return kept_; }
  std::size_t in_use() const { return in_use_; }

 private:
  struct Free {
    Free* next;
  };
  std::array<Free*, kClasses> free_{};
  std::size_t kept_ = 0;
  std::size_t in_use_ = 0;
};

class TransferPool {
 public:
  explicit TransferPool(Core* core);
  TransferPool(const TransferPool&) = delete;
  TransferPool& operator=(const TransferPool&) = delete;
  ~TransferPool();

  Transfer* take();
  // That take() gives next: it finds one.
  Transfer& stock();
  void give(Transfer* transfer);
  // The transfer with this number, free or not; null for a number never given out.
  Transfer* find(std::uint32_t id) const;
  std::uint32_t count() const { return static_cast<std::uint32_t>(slabs_.size()) * kSlab; }

 private:
  static constexpr std::uint32_t kSlab = 64;
  void extend();

  Core* core_;
  // A stack: what to take next is known before it is in the cache.
  std::vector<Transfer*> free_;
  std::vector<std::unique_ptr<Transfer[]>> slabs_;
};

}  // namespace tutti::p2p
