// What p2p writes in a frame's header: the kinds of frames, and which field means what.
//
// In MPICH's and UCX's words an offer is an RTS, a grant a CTS, and taken a FIN.
//
//   kind     payload     length            cookie (low | high)            answered by
//   eager    message     message bytes     fingerprint | its number       -
//     asking message     message bytes     fingerprint | sender's id      taken
//   offer    key or none message bytes     fingerprint | sender's id      grant or taken
//     of a short one     message bytes     fingerprint | sender's id      the same, when kept too
//   grant    none        bytes wanted      sender's id | receiver's id    data
//     (its flags: the kind of memory that the data go to. Its tag, of a device's memory that could
//     have been read: 1, and so many more messages of this size that need not be offered)
//   emptied  none        bytes read        sender's id | receiver's id    refilled
//   refilled none        0: none comes     receiver's id                  -
//   awaited  none        -                 sender's id | receiver's id    ready
//   ready    none        0: none come      receiver's id                  -
//   data     a part      its offset        receiver's id                  -
//     by a bulk link     its offset        receiver's id                  taken, when all are there
//   taken    none        -                 sender's id                    -
//   recall   none        -                 sender's id | 0                recalled, or as sent
//     of one that had left                 asker's id | message's number  recalled or taken
//   recalled none        -                 sender's id                    -
//   cut      none        bytes sent of it  addressee's id                 -
//   credit, goodbye      none              -                              -
//
// Emptied and refilled are of messages that are packed for their reader (device_pieces.cc), awaited
// and ready of those that were offered before their data were there (device_ready.cc).
//
// A cut ends the addressee's send or receive with the code in its tag: the other side has given the
// message up (cancel.cc).
//
// Ids number transfers at the side they belong to; numbers, never 0, the messages to a peer. `aux`
// of every kind returns credit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "p2p/p2p.h"
#include "transport/transport.h"

namespace tutti::p2p {

enum class Kind : std::uint8_t {
  eager = 1,
  offer,
  grant,
  data,
  taken,
  credit,
  goodbye,
  recall,
  recalled,
  cut,
  emptied,
  refilled,
  awaited,
  ready,
};

// What a cut's tag says; codes that nobody gives messages up with are no reason.
constexpr Code code_of(std::int32_t tag) {
  return tag == static_cast<std::int32_t>(Code::proc_aborted) ? Code::proc_aborted : Code::other;
}

// Flags of a frame; those of a kept message are its frame's, with one more that is never sent.
//
//   bit   eager           offer          data           kept
//     1   kWantsTaken     -              kWantsTaken    as it came
//     2   kFreeEager      kDataNotYet    -              as it came
//     4   -               -              -              kRepaid
//     8   kUntilKept      kUntilKept     -              kUntilKept
//    16   -               kOfDevice      -              as it came
//    32   -               kPacked        -              as it came
//   64+   gave_up_of()    -              -              as it came
//
// The sender waits for the match; of data: until all are there, and they may overtake each other.
inline constexpr std::uint8_t kWantsTaken = 1;
// It cost no credit: it is as small as an offer's record.
inline constexpr std::uint8_t kFreeEager = 2;
// (With kOfDevice.) The data are not there yet, and come with ready.
inline constexpr std::uint8_t kDataNotYet = 2;
// Its credit went back when it was kept.
inline constexpr std::uint8_t kRepaid = 4;
// The sender waits for room here only, not for the match; of a kept message: it waits still.
inline constexpr std::uint8_t kUntilKept = 8;
// The key is of a device's memory; its first byte says of which kind.
inline constexpr std::uint8_t kOfDevice = 16;
// (With kOfDevice.) Of memory that the message is packed into, a window of it at a time.
inline constexpr std::uint8_t kPacked = 32;
// The sender gave up the call of that fingerprint: why, in the highest bits.
inline constexpr unsigned kGaveUpAt = 6;

inline constexpr std::uint8_t kOwesNothing = kFreeEager | kRepaid;  // of kept eager ones

// Of messages that are packed for their reader (device_pieces.cc).
inline constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kWindow = 4 * kPiece;

constexpr std::uint8_t flags_of(GaveUp why) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(why) << kGaveUpAt);
}
constexpr GaveUp gave_up_of(std::uint8_t flags) {
  return static_cast<GaveUp>(flags >> kGaveUpAt);
}

constexpr std::uint64_t cookie_of(std::uint32_t low, std::uint32_t high) {
  return low | (static_cast<std::uint64_t>(high) << 32);
}
constexpr std::uint32_t low_of(std::uint64_t cookie) {
  return static_cast<std::uint32_t>(cookie);
}
constexpr std::uint32_t high_of(std::uint64_t cookie) {
  return static_cast<std::uint32_t>(cookie >> 32);
}

// Credit is counted in units of 64 bytes, so that a frame's 16-bit field can return 4 MiB. A
// message costs its bytes and its record, so empty messages are bounded too.
inline constexpr std::size_t kCreditUnit = 64;
inline constexpr std::size_t kRecordCost = 128;
inline constexpr std::uint32_t kMostReturned = 0xffff;

constexpr std::uint32_t cost_of(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + kRecordCost + kCreditUnit - 1) / kCreditUnit);
}

// An offer may carry the key of the memory it offers. One that fits beside the record is free, a
// longer one is paid for as so many bytes sent eagerly, until the offer is matched or taken back.
inline constexpr std::size_t kFreeKeyBytes = 64;
inline constexpr std::size_t kMostKeyBytes = std::size_t{16} << 10;  // longer: nobody sends it

constexpr std::uint32_t key_cost_of(std::size_t bytes) {
  return bytes <= kFreeKeyBytes ? 0 : cost_of(bytes);
}

}  // namespace tutti::p2p
