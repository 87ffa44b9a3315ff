// places: minimum and maximum with their place. Equal values keep the lower index.
#include "device/kernels/grid.h"

namespace {

using namespace tutti::device;

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

// Gaps inside a pair are not written.
template <class Value, class Index>
TUTTI_DEVICE void fold_pairs(const FoldParams& p) {
  using P = Pair<Value, Index>;
  const std::int64_t last = static_cast<std::int64_t>(offsetof(P, index) + sizeof(Index));
  const std::int64_t bytes = (p.count - 1) * static_cast<std::int64_t>(sizeof(P)) + last;
  const P* const a = reach(static_cast<const P*>(p.a), bytes);
  const P* const b = reach(static_cast<const P*>(p.b), bytes);
  P* const out = reach(static_cast<P*>(p.out), bytes);
  for (std::int64_t i = first(); i < p.count; i += step()) {
    const Value u = a[i].value, v = b[i].value;
    const Index j = a[i].index, k = b[i].index;
    const bool first_wins = p.op == kMaxLoc ? u > v : u < v;
    const bool second_wins = p.op == kMaxLoc ? v > u : v < u;
    const bool keep = first_wins || (!second_wins && j < k);
    out[i].value = keep ? u : v;
    out[i].index = keep ? j : k;
  }
}

}  // namespace

TUTTI_KERNEL(tutti_fold_float_int, FoldParams) { fold_pairs<float, int>(p); }
TUTTI_KERNEL(tutti_fold_double_int, FoldParams) { fold_pairs<double, int>(p); }
TUTTI_KERNEL(tutti_fold_long_int, FoldParams) { fold_pairs<long, int>(p); }
TUTTI_KERNEL(tutti_fold_int_int, FoldParams) { fold_pairs<int, int>(p); }
TUTTI_KERNEL(tutti_fold_short_int, FoldParams) { fold_pairs<short, int>(p); }
TUTTI_KERNEL(tutti_fold_float_float, FoldParams) { fold_pairs<float, float>(p); }
TUTTI_KERNEL(tutti_fold_double_double, FoldParams) { fold_pairs<double, double>(p); }
