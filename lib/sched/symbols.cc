// Symbolic units, and the proof that edges order what must be ordered.
#include "sched/symbols.h"

#include <algorithm>
#include <bit>

namespace tutti::sched {
namespace {

// Arithmetic modulo 2^61 - 1: a polynomial hash there has no known collisions by accident.
constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t kBase = 0x1b3f5a7c9d2e4681 % kPrime;
__extension__ using Wide = unsigned __int128;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % kPrime);
}

// splitmix64: a well-mixed number for each (rank, index).
std::uint64_t mixed(std::uint64_t rank, std::uint64_t index) {
  std::uint64_t x = (rank + 1) * 0x9e3779b97f4a7c15 + (index + 1) * 0xd1b54a32d192ed03;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return (x ^ (x >> 31)) % kPrime;
}

}  // namespace

Symbol fold(const Symbol& first, const Symbol& second) {
  return {first.bag + second.bag, (times(first.row, second.width) + second.row) % kPrime,
          times(first.width, second.width), first.operands + second.operands};
}

Symbol symbol_of(const Term& term) {
  Symbol symbol;
  for (std::int32_t rank = term.first; rank < term.last; ++rank) {
    const std::uint64_t name =
        mixed(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(term.index));
    const Symbol one{name, name, kBase, 1};
    symbol = rank == term.first ? one : fold(symbol, one);
  }
  return symbol;
}

SymbolicMemory::SymbolicMemory(const Contract& contract, Count scratch)
    : barrier_(contract.barrier) {
  for (const Term& term : contract.in) space(Space::in).push_back(symbol_of(term));
  for (const Term& term : contract.out) space(Space::out).push_back(symbol_of(term));
  space(Space::scratch).resize(static_cast<std::size_t>(scratch));
}

bool SymbolicMemory::is_undefined(const Slice& slice) const {
  const Symbol* unit = units(slice);
  return std::any_of(unit, unit + slice.count, [](const Symbol& s) { return s.operands == 0; });
}

std::string SymbolicMemory::run_local(const Step& step) {
  if (step.from.count != step.into.count) return "operands of unequal length";
  if (!barrier_ && is_undefined(step.from)) return "reads undefined units";
  const Symbol* from = units(step.from);
  Symbol* into = units(step.into);
  if (step.kind == StepKind::copy) {
    std::copy_n(std::vector<Symbol>(from, from + step.from.count).begin(), step.from.count, into);
    return "";
  }
  if (is_undefined(step.into)) return "folds into undefined units";
  for (Count i = 0; i < step.from.count; ++i)
    into[i] = step.from_first ? fold(from[i], into[i]) : fold(into[i], from[i]);
  return "";
}

void SymbolicMemory::receive(const SymbolicMemory& sender, const Slice& from, const Slice& into) {
  std::copy_n(sender.units(from), from.count, units(into));
}

std::string SymbolicMemory::result_error(const Contract& contract) const {
  for (std::size_t i = 0; i < contract.expected.size(); ++i) {
    const Term& term = contract.expected[i];
    if (term.first == term.last) continue;
    const Symbol wanted = symbol_of(term);
    const Symbol& got = spaces_[static_cast<std::size_t>(Space::out)][i];
    const std::string where = "out[" + std::to_string(i) + "] ";
    if (got.operands == 0) return where + "is undefined at the end";
    if (got.operands != wanted.operands)
      return where + "holds " + std::to_string(got.operands) + " contributions instead of " +
             std::to_string(wanted.operands);
    if (got.bag != wanted.bag) return where + "holds wrong contributions";
    if (contract.ordered && got.row != wanted.row)
      return where + "holds the right contributions in a wrong order";
  }
  return "";
}

std::optional<std::size_t> Heard::first_missing() const {
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    if ((words_[rank / 64] >> (rank % 64) & 1) == 0) return rank;
  return std::nullopt;
}

namespace {

bool is_inside(const Slice& slice, Count size) {
  return slice.offset >= 0 && slice.count >= 0 && slice.offset + slice.count <= size;
}

// For every step the set of steps that its edges put before it.
class Order {
 public:
  explicit Order(const Schedule& schedule) {
    const std::size_t n = schedule.steps.size();
    for (std::size_t i = 0; i < n; ++i) before_.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Step& step = schedule.steps[i];
      for (std::uint32_t s = 0; s < step.successor_count; ++s) {
        Heard& later = before_[schedule.successors[step.first_successor + s]];
        later.add(before_[i]);
        later.add(i);
      }
    }
  }
  bool holds(std::size_t earlier, std::size_t later) const {
    return before_[later].contains(earlier);
  }

 private:
  std::vector<Heard> before_;
};

// Independently of hazards.cc: unit by unit, the last writer and the readers since.
struct Unit {
  std::int64_t writer = -1;
  std::vector<std::uint32_t> readers;
};

std::string unordered(std::size_t earlier, std::size_t later) {
  return "steps " + std::to_string(earlier) + " and " + std::to_string(later) +
         " touch the same units and nothing orders them";
}

std::string order_error(const Schedule& schedule, std::array<std::vector<Unit>, 3>& units) {
  const Order order(schedule);
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const auto visit = [&](const Slice& slice, bool writes) -> std::string {
      auto& space = units[static_cast<std::size_t>(slice.space)];
      for (Count u = slice.offset; u < slice.offset + slice.count; ++u) {
        Unit& unit = space[static_cast<std::size_t>(u)];
        if (unit.writer >= 0 && unit.writer != i &&
            !order.holds(static_cast<std::size_t>(unit.writer), i))
          return unordered(static_cast<std::size_t>(unit.writer), i);
        for (const std::uint32_t reader : unit.readers)
          if (writes && reader != i && !order.holds(reader, i)) return unordered(reader, i);
        if (writes)
          unit = {i, {}};
        else
          unit.readers.push_back(i);
      }
      return "";
    };
    std::string wrong;
    if (step.kind != StepKind::recv) wrong = visit(step.from, false);
    if (wrong.empty() && step.kind != StepKind::send) wrong = visit(step.into, true);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

std::string form_error(const Schedule& schedule, const Contract& contract, std::size_t ranks) {
  const std::array<Count, 3> sizes = {static_cast<Count>(contract.in.size()),
                                      static_cast<Count>(contract.out.size()), schedule.scratch};
  const auto size_of = [&](const Slice& slice) {
    return sizes[static_cast<std::size_t>(slice.space)];
  };
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const std::string where = "step " + std::to_string(i) + ": ";
    const bool reads = step.kind != StepKind::recv;
    const bool writes = step.kind != StepKind::send;
    if ((reads && !is_inside(step.from, size_of(step.from))) ||
        (writes && !is_inside(step.into, size_of(step.into))))
      return where + "outside its space";
    if (writes && step.into.space == Space::in) return where + "writes `in`";
    const bool talks = step.kind == StepKind::send || step.kind == StepKind::recv;
    if (talks && (step.peer < 0 || static_cast<std::size_t>(step.peer) >= ranks))
      return where + "peer outside the team";
    for (std::uint32_t s = 0; s < step.successor_count; ++s)
      if (schedule.successors[step.first_successor + s] <= i)
        return where + "waits for a later one";
  }
  std::array<std::vector<Unit>, 3> units;
  for (std::size_t s = 0; s < 3; ++s) units[s].resize(static_cast<std::size_t>(sizes[s]));
  return order_error(schedule, units);
}

}  // namespace tutti::sched
