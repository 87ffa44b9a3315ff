// loc.cc: minimum and maximum with their place: pairs of value and index (MPI 5.0, 6.9.4).
// Equal values keep the lower index. Gaps inside a pair are not written.
#include "types/kernels/each.h"

namespace tutti::types {
namespace {

template <class Value, class Index, bool kLargest>
void locate(const void* a, const void* b, void* out, Count count) {
  struct ValueAndIndex {
    Value value;
    Index index;
  };
  using LooseValue = typename Loose<Value>::type;
  using LooseIndex = typename Loose<Index>::type;
  constexpr std::size_t place = __builtin_offsetof(ValueAndIndex, index);
  const char* x = static_cast<const char*>(a);
  const char* y = static_cast<const char*>(b);
  char* z = static_cast<char*>(out);
  for (Count i = 0; i < count; ++i) {
    const Value u = *reinterpret_cast<const LooseValue*>(x);
    const Value v = *reinterpret_cast<const LooseValue*>(y);
    const Index j = *reinterpret_cast<const LooseIndex*>(x + place);
    const Index k = *reinterpret_cast<const LooseIndex*>(y + place);
    const bool first = kLargest ? u > v : u < v;
    const bool second = kLargest ? v > u : v < u;
    const bool keep = first || (!second && j < k);
    *reinterpret_cast<LooseValue*>(z) = keep ? u : v;
    *reinterpret_cast<LooseIndex*>(z + place) = keep ? j : k;
    x += sizeof(ValueAndIndex);
    y += sizeof(ValueAndIndex);
    z += sizeof(ValueAndIndex);
  }
}

template <class Value, class Index>
void pair(KernelTable& table, Element element) {
  table.set(Operation::minloc, element, locate<Value, Index, false>);
  table.set(Operation::maxloc, element, locate<Value, Index, true>);
}

}  // namespace

namespace TUTTI_KERNELS {

void fill_loc(KernelTable& table) {
  pair<float, int>(table, Element::float_int);
  pair<double, int>(table, Element::double_int);
  pair<long, int>(table, Element::long_int);
  pair<int, int>(table, Element::int_int);
  pair<short, int>(table, Element::short_int);
  pair<long double, int>(table, Element::long_double_int);
  pair<float, float>(table, Element::float_float);
  pair<double, double>(table, Element::double_double);
}

}  // namespace TUTTI_KERNELS
}  // namespace tutti::types
