// Work: a call under way in a team, and how far it has come. Forms go on where the step before had
// to stop: whoever is to be heard or awaited next stands here, as does the round.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "delegate/team.h"

namespace tutti::delegate {

// What a form says when it has to wait (for ShmTeam::awaited_).
inline constexpr Code kNotYet = Code::pending;

// False: what stands in `out` is nothing to give to others. The call ends with an error here, too.
inline bool ShmTeam::pack(const types::Buffer& from, Count offset, std::byte* out, Count bytes) {
  if (bytes == 0) return true;
  if (from.is_contiguous()) [[likely]] {
    std::memcpy(out, from.at() + offset, static_cast<std::size_t>(bytes));
    return true;
  }
  types::pack(from, offset, {out, static_cast<std::size_t>(bytes)});
  return !note_failure(from.device);
}

inline void ShmTeam::unpack(const types::Buffer& into, Count offset, const std::byte* in,
                            Count bytes) {
  if (bytes == 0) return;
  if (into.is_contiguous()) [[likely]] {
    std::memcpy(into.at() + offset, in, static_cast<std::size_t>(bytes));
    return;
  }
  types::unpack(into, offset, {in, static_cast<std::size_t>(bytes)});
  note_failure(into.device);
}

// At once: another call of this rank might take the device's word for its own.
inline bool ShmTeam::note_failure(types::Device* device) {
  if (types::failure_of(device) == Code::ok) [[likely]]
    return false;
  without_data_ = me_;
  return true;
}

// In an entry's word, besides sizes (direct.cc, uneven.cc). It goes through the chunks; or is read
// where it lies, if that is chosen; that is chosen; all say what it takes.
inline constexpr std::uint64_t kInRounds = std::uint64_t{1} << 63, kReadable = kInRounds >> 1,
                               kDirect = kInRounds >> 2, kTimed = kInRounds >> 3;

// Folds of vectors: short ones are read whole by each who needs the result, up to so many bytes, or
// so many that one member reads; of long ones so many are folded, then passed on while they are in
// L1.
inline constexpr std::size_t kAlwaysShort = 512, kMostRead = 24 << 10;
inline constexpr Count kFoldBlock = 4 << 10;

// Data movement (exchange.cc, uneven.cc).
struct ShmTeam::Exchange {
  const TeamCall& call;
  bool everyone_gives;  // else the root
  bool everyone_takes;  // else the root
  bool to_each;         // a giver has a block for each member
  int size, me;
  Count depth = 0;  // rounds kept in the chunks
  Count part = 0;   // bytes of a block in a round
  Count rounds = 0;
  Count longest = 0;  // block that goes in rounds or is read, of which all know
  // Bytes so far, piece by piece: of the own block, and of the one that is read.
  Count own_copied = 0, read = 0;
  bool is_own_moved = false;
  bool has_data = true;        // uneven: what stands in our entry was packed
  bool is_laid_out = false;    // uneven: all needed for that was heard
  Count ahead = 0;             // rounds given before it was known which way blocks go
  bool may_be_direct = false;  // blocks are read where they lie,
  bool is_direct = false;      // as was chosen, where that is possible
  bool has_read = false;
  bool is_timed = false;
  std::int64_t heard_ns = 0;  // when all was heard
  // How parts are stored that we take, once the first one is there; what that took. Ours then, too.
  std::optional<Stores> stores = {};
  bool stores_are_timed = false;
  std::int64_t storing_ns = 0;
  Count stored = 0;

  // What this member gives, in blocks that are alike.
  types::Buffer from() const {
    if (call.collective == coll::Collective::bcast) return call.into;
    if (!call.in_place || call.collective == coll::Collective::scatter) return call.from;
    return to_each ? call.into : call.into.part(me * call.block, call.block);
  }
  // What this member gives to another, and where that goes which another gives.
  types::Buffer given(int member) const {
    if (call.uneven == nullptr) return from().part(block_for(member) * call.block, call.block);
    if (!call.in_place || call.collective == coll::Collective::scatterv)
      return to_each ? call.uneven->from.of(member) : call.from;
    return call.uneven->into.of(to_each ? member : me);
  }
  types::Buffer taken(int giver) const {
    if (call.uneven == nullptr) return call.into.part(place_of(giver), call.block);
    return everyone_gives ? call.uneven->into.of(giver) : call.into;
  }
  Count bytes_given(int member) const {
    return call.uneven == nullptr ? call.block : given(member).bytes;
  }
  // Whether this member waits for what `member` says: those it takes from; where it takes from
  // nobody, the root, if that may have chosen a way.
  bool hears(int member) const {
    if (member == me) return false;
    return takes(me) ? gives(member)
                     : member == call.root && (may_be_direct || call.uneven != nullptr);
  }
  bool has_root() const { return !everyone_gives || !everyone_takes; }
  int chooser() const { return has_root() ? call.root : 0; }  // of the way, for all (direct.cc)
  bool gives(int member) const { return everyone_gives || member == call.root; }
  bool takes(int member) const { return everyone_takes || member == call.root; }
  // Whether anybody but this member takes what it gives.
  bool gives_away() const { return gives(me) && (everyone_takes || me != call.root); }
  // Whether what is taken goes where that stands which is given in turn.
  bool overwrites() const { return call.in_place && to_each && everyone_gives; }
  bool moves_own() const {
    return gives(me) && takes(me) && !call.in_place && call.collective != coll::Collective::bcast;
  }
  Count blocks() const { return to_each ? size : 1; }
  // Which of a giver's blocks is ours, and where it goes in `into`.
  Count block_for(int member) const { return to_each ? member : 0; }
  Count place_of(int giver) const { return everyone_gives ? giver * call.block : 0; }
  // Of a block of so many bytes.
  Count part_of(Count round, Count bytes) const {
    return std::clamp<Count>(bytes - round * part, 0, part);
  }
  Count chunk_at(Count round) const { return round % depth * blocks() * part; }
};

// Long reductions of many members (fold_long.cc).
struct ShmTeam::Folding {
  const TeamCall& call;
  types::Op::Kernel kernel;
  Count extent;
  Count piece;   // elements
  Count stride;  // bytes of a piece in the chunks
  Count rounds;
  Count depth;  // rounds kept in the chunks
  int size;
  int me;
  const Count* starts;  // of blocks, in a reduce-scatter; else null
  bool collects;        // the folded pieces of the others, too

  struct Range {
    Count from, count;  // elements of the vector
  };
  Range range(Count round, int member) const {
    if (starts != nullptr) {
      const Count from = std::min(starts[member + 1], starts[member] + round * piece);
      return {from, std::min(piece, starts[member + 1] - from)};
    }
    const Count from = std::min(call.count, (round * size + member) * piece);
    return {from, std::min(piece, call.count - from)};
  }
  // In a rank's chunks: pieces for the others to fold, then its own folded one.
  Count given_at(Count round, int member) const {
    return (round % depth * (size + 1) + member) * stride;
  }
  Count folded_at(Count round) const { return given_at(round, size); }
  const std::byte* own(Count element) const {
    return static_cast<const std::byte*>(call.send) + element * extent;
  }
  std::byte* result(Count element) const {
    const Count first = starts != nullptr ? starts[me] : 0;
    return static_cast<std::byte*>(call.recv) + (element - first) * extent;
  }
};

// Long reductions of two, and from one to the next (fold_pair.cc, fold_chain.cc).
struct ShmTeam::Pairing {
  Count extent, stride, piece, rounds, depth;  // of a round: bytes, elements
  const std::byte *given, *own;                // the vector's part for the other, and for us
  Count given_count, own_count;                // elements
  bool gives, folds;
};

struct ShmTeam::Work {
  explicit Work(const TeamCall& what) : call(what) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  // What of a round is done.
  enum class Stage : std::uint8_t { give, fold, take };

  const TeamCall& call;
  Form form = nullptr;      // null: its turn has not come
  bool has_spoken = false;  // our entry is published
  bool has_heard = false;   // all others' are
  Stage stage = Stage::give;
  int member = 0;  // to be heard or awaited next
  Count round = 0;
  types::Op::Kernel kernel;  // of reductions
  std::size_t bytes;         // of all that we give
  std::optional<Exchange> exchange;
  std::optional<Folding> folding;
  std::optional<Pairing> pairing;

  // Moves on in a round, or to the next.
  void enter(Stage next) {
    stage = next;
    member = 0;
  }
};

template <class Copy>
void ShmTeam::take_from(int giver, Count round, Count part, Count bytes, const Copy& copy) {
  const std::uint32_t kind = told(giver, round);
  copied_ += static_cast<std::size_t>(bytes);
  const auto whole = static_cast<std::size_t>(part);
  if (kind >= kStoreKinds || whole < kLeastPaced || bytes == 0) return copy();
  const std::int64_t began = now_ns();
  copy();
  control(me_).paces.took(whole, static_cast<std::size_t>(bytes), kind, now_ns() - began);
}

inline Code ShmTeam::hear_all(Work& work) {
  if (work.has_heard) return Code::ok;
  for (int member = work.member; member < size_; ++member) {
    if (member == me_) continue;
    if (const Code code = hear(member, work.call.fingerprint); code != Code::ok) [[unlikely]] {
      work.member = member;
      return code;
    }
  }
  work.has_heard = true;
  work.member = 0;
  return Code::ok;
}

}  // namespace tutti::delegate
