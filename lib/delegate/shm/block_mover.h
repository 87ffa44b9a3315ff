// BlockMover: blocks go in rounds through the chunks, are read where they lie, or stay with their
// member.
#pragma once

#include <array>
#include <limits>

#include "delegate/shm/direct.h"

namespace tutti::delegate {

class BlockMover {
 public:
  BlockMover(Members& members, Chunks& chunks, DirectReads& direct)
      : members_(members),
        chunks_(chunks),
        direct_(direct),
        size_(members.size()),
        me_(members.me()) {}

  static constexpr Count kAll = std::numeric_limits<Count>::max();
  // What a member gives itself, up to that byte.
  Code move_own(Work& work, Count upto = kAll);
  // `reader`: as of Chunks::claim().
  Code claim_chunks(const BlockExchange& exchange, int reader);
  // Of two, of whom one gives: that one's word on where its rounds lie, and who has heard it.
  std::uint64_t say_turn(BlockExchange& exchange);
  void hear_turn(BlockExchange& exchange);
  // The first round, where it is likely that blocks go in rounds.
  Code give_ahead(BlockExchange& exchange);
  // All of a long call, once it is known which way blocks go.
  Code move_long(Work& work);

 private:
  Code move_directly(Work& work);
  Code move_in_rounds(Work& work);
  Code give_round(BlockExchange& exchange, Count round);
  Code take_round(Work& work, Count round);
  void take_part(BlockExchange& exchange, int giver, Count offset, const std::byte* in,
                 Count bytes);
  Code await_room(const BlockExchange& exchange, Count round);
  std::byte* chunk_of(const BlockExchange& exchange, int giver, int taker, Count round) const;
  bool goes_to(const BlockExchange& exchange, int member) const;  // a part of each round
  bool goes_in_rounds(const BlockExchange& exchange, int giver, int taker) const;
  Stores stores_for(BlockExchange& exchange);
  void judge_stores(const BlockExchange& exchange);
  Judge& judge_of(const BlockExchange& exchange);

  Members& members_;
  Chunks& chunks_;
  DirectReads& direct_;
  const int size_, me_;
  // Of blocks that we take: by size, in collectives of which some have judged.
  std::array<std::vector<Judge>, kCollectives> stores_;
};

}  // namespace tutti::delegate
