// Chunks: how long vectors and blocks go from member to member: in rounds, through chunks of memory
// that each member has in its slot.
//
// A giver copies a round into its own chunks and says so (begin_round, put, tell_filled); takers
// read it there and count what they have taken, so that the giver may write there again.
//
// Two members that give to each other do so through cells, which change hands: each gives a round
// where it took one of the other's two rounds before. What a core has just read lies in its cache,
// and is written there at once (record 0077). Where one of two gives in a call, its rounds lie in a
// longer cell, if it holds one because it took there what the other gave it; else in its chunks. It
// says so, and whoever hears that holds the cell from then on (record 0079). What is folded where
// it was given comes back: those parts stay with their giver (record 0089).
#pragma once

#include <array>
#include <limits>
#include <optional>

#include "base/clock.h"
#include "base/pace.h"
#include "delegate/shm/members.h"

namespace tutti::delegate {

class Chunks {
 public:
  explicit Chunks(Members& members);

  // How a vector (block) of `bytes` goes through the chunks.
  struct Rounds {
    Count part;   // bytes of a chunk
    Count count;  // of rounds
    Count depth;  // of them are kept
    bool in_cells;
  };
  // `pieces` chunks are used in a round. So many rounds are kept: at least, where the parts must be
  // shorter for that, and at most. `one_way`: some only give while others only take; else all do
  // both.
  static constexpr bool kOneWay = true, kBothWays = false;
  struct Kept {
    std::size_t least, most;
  };
  static constexpr Kept kMoved{kLeastDepth, kDepth}, kFolded{kLeastDepth, kFoldDepth};
  Rounds rounds_of(Count bytes, Count pieces, const Kept& kept, bool one_way) const;

  // For the call under way: so many bytes of each member's; of those who take what we give through
  // them, `reader` says how long that takes.
  Code claim(Count bytes, int reader);
  // For so many bytes of the rounds that this member alone, of two, gives in this call: a cell of
  // its, which is the other's then. Nothing: it holds none, or they are too many.
  std::optional<int> give_turn(Count bytes);
  // The other has said that its rounds lie there.
  void take_turn(int cell, Count bytes);
  // It went through so many rounds.
  void end(Count rounds) {
    rounds_ += static_cast<std::uint64_t>(rounds);
    if (in_cells_) cell_rounds_ += static_cast<std::uint64_t>(rounds);
  }
  std::byte* of(int member) const {
    if (in_turn_) return members_.chunks_of(last_turn_) + 2 * cell_bytes_;
    return members_.chunks_of(member) + cells_bytes() + from_;
  }
  // The same where rounds go by cells. Where a giver's round lies in turn:
  void claim_cells();
  // Of two members: so many parts lie in memory that stays with its giver, as what is given there
  // comes back (fold_halves.cc).
  static constexpr Count kReturning = 3;
  bool has_returning() const { return returning_bytes_ > 0; }
  void claim_returning() {
    in_cells_ = in_turn_ = false;
    way_ = {};
  }
  std::byte* returning_of(int giver, Count round) const {
    return members_.chunks_of(giver) + 2 * cell_bytes_ + turn_bytes_ +
           static_cast<std::size_t>(round % kReturning) * cell_bytes_;
  }
  std::byte* cell_of(int giver, Count round) const {
    const std::uint64_t turn = cell_rounds_ + static_cast<std::uint64_t>(round);
    const int holder = static_cast<int>((static_cast<std::uint64_t>(giver) + turn / 2) % 2);
    return members_.chunks_of(holder) + turn % 2 * cell_bytes_;
  }

  // Giving: copies into our chunks, in parts of so many bytes.
  void begin_round(Count round, Count depth, Count part);
  // The same in a cell, once what we gave there before has been read.
  Code begin_cell(Count round);
  void put(std::byte* to, const std::byte* from, Count bytes);
  void tell_filled(Count round, bool has_data);
  // What was given in the cell of the first round is not read.
  void forget_cell() { given_[cell_rounds_ % given_.size()] = known_read_; }

  // Taking. Until a member has filled so many rounds of this call, or its counter says so many.
  Code await_filled(int giver, Count rounds) {
    return await(members_.filled(giver).rounds, rounds);
  }
  Code await(const std::atomic<std::uint64_t>& counter, Count rounds) {
    return members_.await(counter, rounds_ + static_cast<std::uint64_t>(rounds));
  }
  bool has_data(int giver, Count round) const { return told(giver, round) != kNoData; }
  // Runs a copy of so many bytes out of a member's chunks, of a round in parts of `part`.
  template <class Copy>
  void take_from(int giver, Count round, Count part, Count bytes, const Copy& copy);
  // Says in a counter of ours how many rounds of this call are over.
  void tell(std::atomic<std::uint64_t>& counter, Count rounds);

 private:
  std::size_t cells_bytes() const { return 2 * cell_bytes_ + turn_bytes_ + returning_bytes_; }
  std::size_t ring_bytes() const { return members_.geometry().chunk_bytes - cells_bytes(); }
  static unsigned told_at(Count round) {
    return kToldBits * static_cast<unsigned>(round % static_cast<Count>(kDepth));
  }
  // Where that round was awaited.
  unsigned told(int member, Count round) const {
    // relaxed: `rounds` tells of it.
    return members_.filled(member).told.load(std::memory_order_relaxed) >> told_at(round) & kNoData;
  }
  bool touch(Count round, Count depth);

  Members& members_;
  std::size_t cell_bytes_ = 0;        // 0: rounds never go by cells
  bool in_cells_ = false;             // of this call they do
  std::uint64_t cell_rounds_ = 0;     // that did in the calls before
  std::size_t turn_bytes_ = 0;        // of a longer cell, one in each member's chunks
  bool in_turn_ = false;              // this call's rounds lie in one,
  int last_turn_ = 0;                 // which is the latest
  std::array<bool, 2> holds_turn_{};  // this member
  std::size_t returning_bytes_ = 0;   // of parts that come back, in each member's chunks
  // So many rounds of ours the other must have read before we write to a cell again, by cell; has
  // read for all that we know.
  std::array<std::uint64_t, 4> given_{};
  std::uint64_t known_read_ = 0;
  std::uint64_t last_call_ = 0;  // the latest that used them
  std::uint64_t rounds_ = 0;     // of the calls before
  std::size_t from_ = 0;         // of each member's is used by this call,
  std::size_t used_ = 0;         // so many bytes from there on
  std::vector<bool> touched_;    // by page of ours: written before
  int reader_ = 0;
  Pace pace_;
  Pace::Way way_;           // of this round's copies into ours
  std::uint64_t told_ = 0;  // of the latest rounds, as all see it in `filled`
  std::size_t part_ = 0;    // bytes of each, by which they are judged
};

template <class Copy>
void Chunks::take_from(int giver, Count round, Count part, Count bytes, const Copy& copy) {
  // Before it gave this, it took all of ours up to two rounds before.
  if (in_cells_)
    known_read_ =
        std::max(known_read_, rounds_ + static_cast<std::uint64_t>(std::max<Count>(round - 1, 0)));
  const std::uint32_t kind = told(giver, round);
  members_.count_copied(static_cast<std::size_t>(bytes));
  const auto whole = static_cast<std::size_t>(part);
  if (kind >= kStoreKinds || whole < kLeastPaced || bytes == 0) return copy();
  const std::int64_t began = now_ns();
  copy();
  members_.control(members_.me())
      .paces.took(whole, static_cast<std::size_t>(bytes), kind, now_ns() - began);
}

}  // namespace tutti::delegate
