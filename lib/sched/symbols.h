// What the checker computes with instead of numbers; private to sched.
#pragma once

#include <array>
#include <optional>

#include "sched/sched.h"

namespace tutti::sched {

// A fold of contributions. Equal hashes stand for equal folds: `bag` adds a random number per
// (rank, index), `row` is a polynomial over them in the order of the operands.
struct Symbol {
  std::uint64_t bag = 0;
  std::uint64_t row = 0;
  std::uint64_t width = 0;     // base of `row` to the number of operands
  std::uint32_t operands = 0;  // 0: undefined
};
Symbol symbol_of(const Term& term);
Symbol fold(const Symbol& first, const Symbol& second);

// The three spaces of one rank.
class SymbolicMemory {
 public:
  SymbolicMemory(const Contract& contract, Count scratch);
  bool is_undefined(const Slice& slice) const;
  // Empty when all is well, else what is wrong.
  std::string run_local(const Step& step);
  void receive(const SymbolicMemory& sender, const Slice& from, const Slice& into);
  std::string result_error(const Contract& contract) const;

 private:
  std::vector<Symbol>& space(Space which) { return spaces_[static_cast<std::size_t>(which)]; }
  const std::vector<Symbol>& space(Space which) const {
    return spaces_[static_cast<std::size_t>(which)];
  }
  Symbol* units(const Slice& slice) { return space(slice.space).data() + slice.offset; }
  const Symbol* units(const Slice& slice) const { return space(slice.space).data() + slice.offset; }
  std::array<std::vector<Symbol>, 3> spaces_;
  bool barrier_;
};

// A set of ranks.
class Heard {
 public:
  explicit Heard(std::size_t ranks) : words_((ranks + 63) / 64), ranks_(ranks) {}
  void add(std::size_t rank) { words_[rank / 64] |= std::uint64_t{1} << (rank % 64); }
  void add(const Heard& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool contains(std::size_t rank) const { return (words_[rank / 64] >> (rank % 64) & 1) != 0; }
  std::optional<std::size_t> first_missing() const;

 private:
  std::vector<std::uint64_t> words_;
  std::size_t ranks_;
};

// Whether a schedule makes sense by itself: slices inside their spaces, peers in the team, no
// write to `in`, and its edges order every two steps that touch the same units.
std::string form_error(const Schedule& schedule, const Contract& contract, std::size_t ranks);

}  // namespace tutti::sched
