// The meaning of each collective between two groups, unit by unit: what contract.cc is for one.
#include <numeric>

#include "coll/coll.h"

namespace tutti::coll {
namespace {

using sched::Term;
using Terms = std::vector<Term>;

class BetweenContracts {
 public:
  explicit BetweenContracts(const RankCall& call) : call_(call), sides_(call) {}

  sched::Contract make() {
    using enum Collective;
    contract_.ordered = !call_.commutative;
    contract_.barrier = call_.collective == barrier;
    const bool has_root = call_.collective == bcast || call_.collective == reduce ||
                          call_.collective == gather || call_.collective == gatherv ||
                          call_.collective == scatter || call_.collective == scatterv;
    if (call_.collective != barrier && !(has_root && call_.root < 0)) of_data();
    return std::move(contract_);
  }

 private:
  bool is_root() const { return call_.rank == call_.root; }

  void of_data() {
    using enum Collective;
    switch (call_.collective) {
      case bcast:
        add(contract_.expected, call_.root, call_.root + 1, 0, call_.count);
        if (is_root())
          contract_.out = contract_.expected;
        else
          contract_.out.resize(contract_.expected.size());
        break;
      case reduce:
        if (!is_root()) return give(call_.count);
        get_fold(0, call_.count);
        break;
      case allreduce:
        give(call_.count);
        get_fold(0, call_.count);
        break;
      case gather:
      case gatherv:
        return is_root() ? get_blocks(0) : give(call_.count);
      case allgather:
      case allgatherv:
        give(call_.count);
        get_blocks(0);
        break;
      case scatter:
      case scatterv:
        if (is_root()) return give_blocks(call_.counts);
        get(call_.root, call_.rank * kPerTarget, call_.count);
        break;
      case alltoall:
      case alltoallv:
        give_blocks(call_.send_counts);
        get_blocks(call_.rank * kPerTarget);
        break;
      default:
        of_reduce_scatter();
        break;
    }
  }

  static void add(Terms& terms, int first, int last, Count from, Count count) {
    for (Count i = 0; i < count; ++i) terms.push_back({first, last, from + i});
  }
  void give(Count count) { add(contract_.in, call_.rank, call_.rank + 1, 0, count); }
  void give_blocks(std::span<const Count> counts) {
    for (int i = 0; i < sides_.other; ++i)
      add(contract_.in, call_.rank, call_.rank + 1, (sides_.other_first + i) * kPerTarget,
          counts[static_cast<std::size_t>(i)]);
  }
  void get(int from, Count index, Count count) {
    add(contract_.expected, from, from + 1, index, count);
    contract_.out.resize(contract_.expected.size());
  }
  void get_blocks(Count index) {
    for (int i = 0; i < sides_.other; ++i)
      get(sides_.other_first + i, index, call_.counts[static_cast<std::size_t>(i)]);
  }
  void get_fold(Count index, Count count) {
    add(contract_.expected, sides_.other_first, sides_.other_first + sides_.other, index, count);
    contract_.out.resize(contract_.expected.size());
  }
  void of_reduce_scatter() {
    const auto mine = static_cast<std::size_t>(call_.rank - sides_.own_first);
    const auto before = call_.counts.first(mine);
    give(std::accumulate(call_.counts.begin(), call_.counts.end(), Count{0}));
    get_fold(std::accumulate(before.begin(), before.end(), Count{0}), call_.counts[mine]);
  }

  const RankCall& call_;
  const GroupSides sides_;
  sched::Contract contract_;
};

}  // namespace

sched::Contract contract_between(const RankCall& call) {
  return BetweenContracts(call).make();
}

}  // namespace tutti::coll
