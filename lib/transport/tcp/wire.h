// wire: the bytes of the tcp transport. Both hosts are little-endian machines of one build.
//
//   initiator                                   acceptor
//   Hello: who, to whom, which job, nonce   ->
//                                           <-  Challenge: nonce, mac ("I know the key")
//   Proof: mac ("so do I")                  ->
//                                           <-  Verdict: mac ("this is our link")
//   frames                                 <->  frames
//   goodbye                                <->  goodbye
//
// Every mac is over a label of its own, the whole Hello and both nonces, so that none can be
// played back, reflected or moved to another pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/transport.h"

namespace tutti::transport::tcp {

inline constexpr std::array<char, 8> kMagic{'t', 'u', 't', 't', 'i', 't', 'c', 'p'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kMacBytes = 32;

using Nonce = std::array<std::uint8_t, kNonceBytes>;
using Mac = std::array<std::uint8_t, kMacBytes>;

struct Hello {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t reserved;
  std::uint64_t job;
  Nonce nonce;
};
static_assert(sizeof(Hello) == 64);

struct Challenge {
  Nonce nonce;
  Mac mac;
};

struct Proof {
  Mac mac;
};

struct Verdict {
  Mac mac;
};

enum class WireKind : std::uint16_t { frame = 1, goodbye = 2 };
inline constexpr std::uint16_t kWireCheck = 0x7474;  // finds a stream that lost its place

// In front of every payload.
struct WireHead {
  std::uint32_t bytes;  // of the payload, at most kMaxFrame
  std::uint16_t kind;
  std::uint16_t check;
  FrameHeader header;
};
static_assert(sizeof(WireHead) == 40);

inline constexpr std::size_t kMaxFrame = std::size_t{512} << 10;

inline bool is_sound(const WireHead& head) {
  const bool known = head.kind == static_cast<std::uint16_t>(WireKind::frame) ||
                     head.kind == static_cast<std::uint16_t>(WireKind::goodbye);
  return known && head.check == kWireCheck && head.bytes <= kMaxFrame;
}

}  // namespace tutti::transport::tcp
