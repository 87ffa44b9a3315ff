// A team area: one slot per member, in the slot of its local rank.
//
//   | Standing: a line | Control: counters | entries: kEntries x (line + payload) | chunks |
//
// An entry is what a rank says in one call: a line whose first word is the call's number and
// fingerprint, written last. Entries are used in turn. Chunks carry long vectors in rounds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/pace.h"
#include "model/lines.h"
#include "wireup/wireup.h"

namespace tutti::delegate {

// Why a rank gave up on the team: what two members say does not match. Any member can say it. All
// zero at first, like the segment.
struct Fault {
  enum class Kind : std::uint32_t {
    other,  // a reason of its own
    different_calls,
    left_without,  // `member` has left the call of `teller` and gave nothing
    too_long,      // `member` gives `teller` more bytes than that has room for
  };
  Kind kind;
  std::int32_t teller, member;       // members of the team
  std::uint32_t calls, theirs;       // fingerprints of what these call
  std::int64_t bytes = 0, room = 0;  // of a block that is too long
};

// Who is in the area. A member's place is given up once: by itself, or, when it is gone, by whoever
// notices. The area is free again when no place is left. Places carry the number of their team, so
// that who is late cannot give up one of the next team's.
struct alignas(kCacheLine) Standing {
  // In the slot of local rank 0, of the area:
  std::atomic<std::uint64_t> team;    // so many have had it
  std::atomic<std::int32_t> members;  // places not given up
  std::atomic<std::int32_t> first;    // local rank of the first member
  // Of this slot's member:
  std::atomic<std::uint64_t> place;  // place_in(team), or less
  std::atomic<std::int32_t> next;    // local rank of the next member; -1: the last
};
constexpr std::uint64_t place_in(std::uint64_t team) {
  return team << 1 | 1;
}

inline constexpr std::uint64_t kEntries = 8;

// Rounds that are kept in the chunks, see block_mover.cc and fold_*.cc: so many that a chunk which
// is written again has left its reader's own cache (record 0068). Folds keep fewer: more would take
// the caches' room from their vectors.
inline constexpr std::size_t kLeastDepth = 8, kDepth = 32, kFoldDepth = 8;

// What is told of a round is how it was written, where readers are to time that (Pace::Way::told),
// or this: its giver's device failed, the chunk holds no data.
inline constexpr unsigned kToldBits = 2, kNoData = 3;
static_assert(kNoData > kUntimed && kToldBits * kDepth <= 64);

// Whether a rank can read the memory of all others of its team.
enum class Reads : std::uint32_t { unknown, yes, no };

// From when a member had heard all that it was to hear in that call until it was through, by the
// host's clock. A call's span is written over kSpans calls later at the earliest, so never while
// the half of those is looked at (DirectReads::judge_turns).
inline constexpr std::size_t kSpans = 2 * kEntries;
struct Span {
  std::atomic<std::uint64_t> number;  // of the call; written last
  std::atomic<std::int64_t> heard_ns, ended_ns;
};

// Of a call: rounds put into the chunks, by this and all calls before; what is told of its rounds,
// in turn. Who waits for the one has the other with the same line.
struct Filled {
  std::atomic<std::uint64_t> rounds, told;
};

// Counters of one rank, each on its own line: written by it (release), read by the others
// (acquire), never going down.
struct MemberCounters {
  // Not 0: this rank gave up with this code; written once, after why (release, acquire).
  alignas(kCacheLine) std::atomic<std::uint32_t> broken;
  Fault fault;
  model::BoundAt place;  // where it is bound; written before its first entry
  alignas(kCacheLine) std::atomic<std::uint64_t> done;    // calls whose data it has read
  alignas(kCacheLine) Filled filled[kEntries];            // of calls in turn
  alignas(kCacheLine) std::atomic<std::uint64_t> read;    // rounds it has taken from others
  ReadPaces paces;                                        // what taking them took
  alignas(kCacheLine) std::atomic<std::uint64_t> folded;  // rounds it has folded
  // Blocks read from the givers' own memory (direct.cc). Twice the number of the latest call in
  // which it has tried, and one more where it could not.
  alignas(kCacheLine) std::atomic<std::uint64_t> answered;
  std::atomic<Reads> reads;
  Span spans[kSpans];
  // Of the team, in its first member's: how many parts of the latest call are claimed, and are
  // folded (fold_crowd.cc). Written by whoever folds.
  alignas(kCacheLine) std::atomic<std::uint64_t> claimed;
  alignas(kCacheLine) std::atomic<std::uint64_t> served;
};

struct alignas(kCacheLine) AreaEntry {
  // Low half: the call's number; high half: its fingerprint. Stored with release after the
  // payload, loaded with acquire before it.
  std::atomic<std::uint64_t> flag;
  // Which way blocks go (direct.cc); of uneven ones how much, too (move_uneven.cc).
  std::uint64_t word;
  std::byte short_payload[48];
  std::byte* payload(std::size_t bytes) {
    return bytes <= sizeof short_payload ? short_payload
                                         : reinterpret_cast<std::byte*>(this) + sizeof(AreaEntry);
  }
};
static_assert(sizeof(AreaEntry) == kCacheLine);

inline constexpr std::uint32_t kHostArea = 0;  // of all ranks of the host

struct AreaGeometry {
  std::size_t slot_bytes;
  std::size_t entry_bytes;  // payload
  std::size_t chunk_bytes;  // all chunks of a slot
  std::size_t control_at() const { return sizeof(Standing); }
  std::size_t entries_at() const { return control_at() + sizeof(MemberCounters); }
  std::size_t entry_stride() const { return sizeof(AreaEntry) + entry_bytes; }
  std::size_t chunks_at() const { return entries_at() + kEntries * entry_stride(); }
  // Every member's piece of a round must have a line to itself.
  bool has_room_for(std::size_t members) const {
    return chunk_bytes / (kLeastDepth * (members + 1)) >= kCacheLine;
  }
};

inline AreaGeometry geometry_of(const wireup::SegmentFacts& facts) {
  AreaGeometry geometry{};
  geometry.slot_bytes = facts.area_slot_bytes;
  // A sixteenth of the slot for the entries, which serve up to 8 KiB each.
  constexpr std::size_t kMostEntry = 8 << 10;
  geometry.entry_bytes = std::min(facts.area_slot_bytes / 16 / kEntries, kMostEntry);
  geometry.chunk_bytes = geometry.slot_bytes - geometry.chunks_at();
  return geometry;
}

// The place of this member (its local rank) in this team is given up, if it is not yet; the last
// one gives the area back.
void give_up_place(const wireup::Segment& segment, std::uint32_t area, int local,
                   std::uint64_t team);
// The same for all members of the area that are gone.
void give_up_places_of_gone(const wireup::Segment& segment, std::uint32_t area);
Standing& standing(const wireup::Segment& segment, std::uint32_t area, int local);

}  // namespace tutti::delegate
