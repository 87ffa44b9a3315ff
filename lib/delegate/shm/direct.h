// DirectReads: long blocks read straight from the givers' memory (process_vm_readv): one copy
// instead of two, but a system call, and slow where pages are many. Which is faster here is found
// out while working (record 0056).
#pragma once

#include "base/judge.h"
#include "delegate/shm/chunks.h"
#include "delegate/shm/giver_entry.h"
#include "delegate/shm/work.h"

namespace tutti::delegate {

class DirectReads {
 public:
  DirectReads(Members& members, BlockReads wanted)
      : members_(members), size_(members.size()), me_(members.me()), wanted_(wanted) {}

  bool may_read(Count block) const;
  void prove_reading(const BlockExchange& exchange);
  // This member's word, and where its blocks lie. `longest`: of the blocks that it knows of.
  std::uint64_t say_way(const BlockExchange& exchange, Count longest);
  // Every member was heard that has a say.
  void hear_way(BlockExchange& exchange);
  // Before that: whether this call is likely to go through the chunks.
  bool expects_rounds(const BlockExchange& exchange) const;

  bool is_direct(const BlockExchange& exchange, int giver) const;
  bool has_failed(int taker) const;
  // Reads the givers' blocks, then answers that it has.
  Code read_blocks(Work& work);
  // A giver's: until all have answered.
  Code await_answers(Work& work);
  void tell_span(const BlockExchange& exchange);  // the call is over

 private:
  bool all_read() const;
  void make_judges();
  std::uint64_t choose_way(const BlockExchange& exchange, Count longest);
  bool say_addresses(const BlockExchange& exchange);
  void judge_turns();
  Code read_block(Work& work, int giver);

  Members& members_;
  const int size_, me_;
  const BlockReads wanted_;
  std::vector<bool> proved_;       // by member: its memory was read
  std::vector<Judge> judges_;      // of who chooses: by form and size
  std::vector<bool> rounds_then_;  // the last call of that form and size went through the chunks
  struct Turn {
    std::uint64_t number;  // of the call
    std::size_t judge;
    unsigned way;
    std::size_t bytes;
  };
  std::vector<Turn> turns_;  // whose figures are not known yet, in order
};

}  // namespace tutti::delegate
