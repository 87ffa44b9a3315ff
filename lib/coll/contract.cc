// The meaning of each collective, unit by unit, said once and apart from every algorithm.
//
// Unit `index` of a rank is named by (rank, index); where a rank has one block for each other
// rank, the index also carries whom the block is for.
#include <numeric>

#include "coll/coll.h"

namespace tutti::coll {
namespace {

using sched::Term;
using Terms = std::vector<Term>;

class Contracts {
 public:
  explicit Contracts(const RankCall& call) : call_(call) {}

  sched::Contract make() {
    using enum Collective;
    contract_.ordered = !call_.commutative;
    switch (call_.collective) {
      case barrier:
        contract_.barrier = true;
        break;
      case bcast:
        of_bcast();
        break;
      case reduce:
        of_fold(is_root(), 0, p());
        break;
      case allreduce:
        of_fold(true, 0, p());
        break;
      case scan:
        of_fold(true, 0, me() + 1);
        break;
      case exscan:
        of_exscan();
        break;
      case gather:
      case gatherv:
        of_gather(is_root());
        break;
      case allgather:
      case allgatherv:
        of_gather(true);
        break;
      case scatter:
      case scatterv:
        of_scatter();
        break;
      case alltoall:
      case alltoallv:
        of_alltoall();
        break;
      case reduce_scatter:
        of_reduce_scatter();
        break;
    }
    return std::move(contract_);
  }

 private:
  int me() const { return call_.rank; }
  int p() const { return call_.size; }
  bool is_root() const { return call_.rank == call_.root; }
  Count counted(std::span<const Count> counts, int rank) const {
    return counts.empty() ? call_.count : counts[static_cast<std::size_t>(rank)];
  }
  Count own_count() const {
    return is_root() || call_.collective == Collective::allgatherv ? counted(call_.counts, me())
                                                                   : call_.count;
  }

  static void add(Terms& terms, int first, int last, Count from, Count count) {
    for (Count i = 0; i < count; ++i) terms.push_back({first, last, from + i});
  }
  static void add_undefined(Terms& terms, Count count) {
    terms.resize(terms.size() + static_cast<std::size_t>(count));
  }

  void of_bcast() {
    const int root = call_.root;
    add(contract_.expected, root, root + 1, 0, call_.count);
    if (is_root())
      contract_.out = contract_.expected;
    else
      add_undefined(contract_.out, call_.count);
  }

  // The fold of ranks first .. last - 1 in `out`, where this rank has one.
  void of_fold(bool has_out, int first, int last) {
    add(call_.in_place ? contract_.out : contract_.in, me(), me() + 1, 0, call_.count);
    if (!has_out) return;
    if (!call_.in_place) add_undefined(contract_.out, call_.count);
    add(contract_.expected, first, last, 0, call_.count);
  }

  // The first rank has no result, and its `out` is not touched.
  void of_exscan() {
    of_fold(me() > 0, 0, me());
    if (me() == 0 && call_.in_place) contract_.expected = contract_.out;
  }

  void of_gather(bool has_out) {
    if (!call_.in_place) add(contract_.in, me(), me() + 1, 0, own_count());
    if (!has_out) return;
    for (int rank = 0; rank < p(); ++rank) {
      const Count count = counted(call_.counts, rank);
      add(contract_.expected, rank, rank + 1, 0, count);
      if (call_.in_place && rank == me())
        add(contract_.out, rank, rank + 1, 0, count);
      else
        add_undefined(contract_.out, count);
    }
  }

  void of_scatter() {
    const int root = call_.root;
    if (is_root())
      for (int rank = 0; rank < p(); ++rank)
        add(contract_.in, root, root + 1, rank * kPerTarget, counted(call_.counts, rank));
    if (is_root() && call_.in_place) return;
    add_undefined(contract_.out, own_count());
    add(contract_.expected, root, root + 1, me() * kPerTarget, own_count());
  }

  void of_alltoall() {
    for (int rank = 0; rank < p(); ++rank) {
      const Count given = counted(call_.send_counts, rank);
      const Count taken = counted(call_.counts, rank);
      add(contract_.in, me(), me() + 1, rank * kPerTarget, given);
      add_undefined(contract_.out, taken);
      add(contract_.expected, rank, rank + 1, me() * kPerTarget, taken);
    }
  }

  void of_reduce_scatter() {
    const auto before = call_.counts.first(static_cast<std::size_t>(me()));
    const Count offset = std::accumulate(before.begin(), before.end(), Count{0});
    const Count all = std::accumulate(call_.counts.begin(), call_.counts.end(), Count{0});
    add(contract_.in, me(), me() + 1, 0, all);
    add_undefined(contract_.out, counted(call_.counts, me()));
    add(contract_.expected, 0, p(), offset, counted(call_.counts, me()));
  }

  const RankCall& call_;
  sched::Contract contract_;
};

}  // namespace

sched::Contract contract(const RankCall& call) {
  return Contracts(call).make();
}

}  // namespace tutti::coll
