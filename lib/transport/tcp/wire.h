// wire: the bytes of the tcp transport. Both hosts are little-endian machines of one build.
//
//   initiator                                   acceptor
//   TcpHello: who, to whom, which job, nonce,
//   and what is asked of the link           ->
//                                           <-  Challenge: nonce, what is given, mac ("I know the
//                                           key")
//   Proof: mac ("so do I")                  ->
//                                           <-  Verdict: mac ("this is our link")
//   frames                                 <->  frames
//   goodbye                                <->  goodbye
//
// Every mac is over a label of its own, the whole TcpHello and the whole Challenge, so that none
// can be played back, reflected or moved to another pair.
//
// With TUTTI_LINK_SECURITY both also send a fresh X25519 public key, which the macs cover. What the
// two keys agree on, the job's key, TcpHello and Challenge make a key for each direction
// (secure.h). Then every frame is one record of one or two pieces, each sealed with its own number
// as nonce:
//
//   | WireHead, 40 | tag, 16 |            and, where head.bytes > 0,   | payload | tag, 16 |
//
// The head is sealed by itself, so that no length is believed before it was proved. A piece that
// does not open ends the job. A side that has sent nothing for a second while it is in MPI sends
// `still`, so that the loss of the last record is noticed, too; the first ones have a payload, so
// that a record which lost its end is filled up, and found wrong, soon.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/transport.h"

namespace tutti::transport::tcp {

inline constexpr std::array<char, 8> kMagic{'t', 'u', 't', 't', 'i', 't', 'c', 'p'};
inline constexpr std::uint32_t kVersion = 3;
inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kMacBytes = 32;

using Nonce = std::array<std::uint8_t, kNonceBytes>;
using Mac = std::array<std::uint8_t, kMacBytes>;
using PublicKey = std::array<std::uint8_t, 32>;

struct TcpHello {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t from;
  std::uint32_t to;
  std::uint16_t security;  // Security; the keys are zero without
  std::uint16_t ciphers;   // bits 1 << Cipher
  std::uint64_t job;
  std::uint32_t rail;  // 0: the ordered link's connection; else which of the rails
  std::uint32_t rails;
  Nonce nonce;
  PublicKey key;
};
static_assert(sizeof(TcpHello) == 104);

struct Answer {
  Nonce nonce;
  PublicKey key;
  std::uint16_t security;
  std::uint16_t cipher;  // the one that is taken
  std::uint32_t rails;
};

struct Challenge {
  Answer answer;
  Mac mac;
};
static_assert(sizeof(Challenge) == 104);
inline constexpr std::size_t kLongestMessage = sizeof(Challenge);

struct Proof {
  Mac mac;
};

struct Verdict {
  Mac mac;
};

enum class WireKind : std::uint16_t { frame = 1, goodbye = 2, still = 3 };
inline constexpr std::uint16_t kWireCheck = 0x7474;  // finds a stream that lost its place

// In front of every payload.
struct WireHead {
  std::uint32_t bytes;  // of the payload, at most kMaxFrame
  std::uint16_t kind;
  std::uint16_t check;
  FrameHeader header;
};
static_assert(sizeof(WireHead) == 40);

inline WireHead head_for(WireKind kind, const FrameHeader& header, std::size_t bytes) {
  return {static_cast<std::uint32_t>(bytes), static_cast<std::uint16_t>(kind), kWireCheck, header};
}

inline constexpr std::size_t kMaxFrame = std::size_t{512} << 10;
inline bool is_sound(const WireHead& head) {
  const auto kind = static_cast<WireKind>(head.kind);
  const bool known = kind == WireKind::frame || (kind == WireKind::goodbye && head.bytes == 0);
  return known && head.check == kWireCheck && head.bytes <= kMaxFrame;
}

// On a protected link, whose frames are kept whole for a moment at both ends.
inline constexpr std::size_t kMaxSealedFrame = std::size_t{128} << 10;

inline bool is_sound_sealed(const WireHead& head) {
  const bool is_still = head.kind == static_cast<std::uint16_t>(WireKind::still);
  return (is_sound(head) || (is_still && head.check == kWireCheck)) &&
         head.bytes <= kMaxSealedFrame;
}

}  // namespace tutti::transport::tcp
