// share: memory files made while the job runs (windows, exported memory), handed to neighbours: the
// ranks of the same job, generation and host, or some of them.
//
//   sharer:     auto shared = wireup.share(fd);    its key goes to the others in any message
//   neighbour:  auto fd = wireup.take(key);        a descriptor of its own, of key.bytes bytes
//
// A file stays shared until its Shared ends, or its sharer does; what was taken stays with who took
// it. Under prun the daemon gives it away, at its door; elsewhere a thread of the sharer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "wireup/segment.h"

namespace tutti::wireup {

inline constexpr std::size_t kMostShared = 64;  // files of a rank at a time, and their bytes:
inline constexpr std::uint64_t kMostSharedBytes = std::uint64_t{1} << 40;
inline constexpr std::size_t kShareSecretBytes = 16;

// Plain bytes: a message carries it as it is. Who has it cannot guess another one.
struct ShareKey {
  std::uint64_t bytes = 0;  // of the file; 0: it is a GPU driver's, of which nobody else knows more
  std::uint64_t place = 0;  // where a sharer without a daemon listens; else 0
  std::uint32_t host = 0;
  std::uint32_t generation = 0;
  std::uint32_t sharer = 0;  // local rank
  std::uint32_t number = 0;
  std::uint8_t secret[kShareSecretBytes] = {};
};
static_assert(sizeof(ShareKey) == 48);

// Local ranks that may take a file.
struct Takers {
  static constexpr std::size_t kMost = sizeof(LocalRecord::senders) * 8;
  std::uint64_t bits[kMost / 64] = {};
  void add(std::size_t local) { bits[local / 64] |= std::uint64_t{1} << (local % 64); }
  bool has(std::size_t local) const {
    return local < kMost && (bits[local / 64] >> (local % 64) & 1) != 0;
  }
};

// A shared file; withdrawn when this ends. It may outlive the Wireup.
class Shared {
 public:
  // What keeps it shared as long as it lives.
  struct Hold {
    virtual ~Hold() = default;
  };
  Shared(const ShareKey& key, std::unique_ptr<Hold> hold) : key_(key), hold_(std::move(hold)) {}
  const ShareKey& key() const { return key_; }

 private:
  ShareKey key_;
  std::unique_ptr<Hold> hold_;
};

}  // namespace tutti::wireup
