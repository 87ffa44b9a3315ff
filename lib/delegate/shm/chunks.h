// Chunks: how long vectors and blocks go from member to member: in rounds, through chunks of memory
// that each member has in its slot.
//
// A giver copies a round into its own chunks and says so (begin_round, put, tell_filled); takers
// read it there and count what they have taken, so that the giver may write there again.
#pragma once

#include <limits>

#include "base/clock.h"
#include "base/pace.h"
#include "delegate/shm/members.h"

namespace tutti::delegate {

class Chunks {
 public:
  explicit Chunks(Members& members) : members_(members) {}

  // How a vector (block) of `bytes` goes through the chunks.
  struct Rounds {
    Count part;   // bytes of a chunk
    Count count;  // of rounds
    Count depth;  // of them are kept
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
  // It went through so many rounds.
  void end(Count rounds) { rounds_ += static_cast<std::uint64_t>(rounds); }
  std::byte* of(int member) const { return members_.chunks_of(member) + from_; }
  bool has_new_pages() const { return is_new_; }  // this call has written to pages that were not

  // Giving: copies into our chunks, in parts of so many bytes.
  void begin_round(Count round, Count depth, Count part);
  void put(std::byte* to, const std::byte* from, Count bytes);
  void tell_filled(Count round, bool has_data);

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
  std::uint64_t last_call_ = 0;  // the latest that used them
  std::uint64_t rounds_ = 0;     // of the calls before
  std::size_t from_ = 0;         // of each member's is used by this call,
  std::size_t used_ = 0;         // so many bytes from there on
  std::vector<bool> touched_;    // by page of ours: written before
  bool is_new_ = false;
  int reader_ = 0;
  Pace pace_;
  Pace::Way way_;           // of this round's copies into ours
  std::uint64_t told_ = 0;  // of the latest rounds, as all see it in `filled`
  std::size_t part_ = 0;    // bytes of each, by which they are judged
};

template <class Copy>
void Chunks::take_from(int giver, Count round, Count part, Count bytes, const Copy& copy) {
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
