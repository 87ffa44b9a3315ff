// host_region: regions of ordinary memory, for links that reach it by address (self, shm).
//
// The key is address and length. Nothing is pinned, so the region ends without a trace; that it is
// over must be told by whoever told the key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "transport/transport.h"
#include "types/types.h"

namespace tutti::transport {

// Of a contiguous buffer of the host's.
inline Memory host_memory_of(const types::Buffer& buffer) {
  return {buffer.at(), static_cast<std::size_t>(buffer.bytes)};
}

class HostRegion final : public Region {
 public:
  explicit HostRegion(const Memory& memory) {
    const std::array<std::uint64_t, 2> words{reinterpret_cast<std::uint64_t>(memory.data),
                                             memory.bytes};
    std::memcpy(key_.data(), words.data(), key_.size());
  }
  BlobView key() const override { return key_; }

 private:
  std::array<std::byte, 16> key_{};
};

class HostRemote final : public Remote {
 public:
  static Result<std::unique_ptr<Remote>> import(BlobView key) {
    std::array<std::uint64_t, 2> words{};
    if (key.size() != sizeof words)
      return fail(Code::intern, "a key of " + std::to_string(key.size()) +
                                    " bytes, which this link did not make");
    std::memcpy(words.data(), key.data(), sizeof words);
    return std::unique_ptr<Remote>(new HostRemote(words[0], words[1]));
  }
  // Address of `bytes` bytes from `offset` on, where all of them lie inside.
  Result<std::uint64_t> part(std::uint64_t offset, std::size_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset)
      return fail(Code::intern, std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                    " are not inside the " + std::to_string(bytes_) +
                                    " that were exposed");
    return address_ + offset;
  }

 private:
  HostRemote(std::uint64_t address, std::uint64_t bytes) : address_(address), bytes_(bytes) {}
  std::uint64_t address_;
  std::uint64_t bytes_;
};

// On memory of this process. An error where that is no word, or not at its place.
Result<void> atomic_here(const Atomic& what, std::uint64_t at, const Memory& before);

}  // namespace tutti::transport
