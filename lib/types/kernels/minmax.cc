// minmax.cc: minimum and maximum. With a not-a-number the second operand wins, as the
// processor's own instructions do it.
#include "types/kernels/each.h"

namespace tutti::types {
namespace {

__extension__ typedef __int128 SignedWide;

struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return a < b ? a : b;
  }
};

struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return a > b ? a : b;
  }
};

// On the bits of bfloat16.
struct BrainMinimum {
  template <class T>
  static T of(T a, T b) {
    return widened(a) < widened(b) ? a : b;
  }
};
struct BrainMaximum {
  template <class T>
  static T of(T a, T b) {
    return widened(a) > widened(b) ? a : b;
  }
};

template <class T>
void ordered(KernelTable& table, Element element) {
  table.set(Operation::min, element, each<T, Minimum>);
  table.set(Operation::max, element, each<T, Maximum>);
}

}  // namespace

namespace TUTTI_KERNELS {

void fill_minmax(KernelTable& table) {
  ordered<std::int8_t>(table, Element::int8);
  ordered<std::int16_t>(table, Element::int16);
  ordered<std::int32_t>(table, Element::int32);
  ordered<std::int64_t>(table, Element::int64);
  ordered<SignedWide>(table, Element::int128);
  ordered<std::uint8_t>(table, Element::uint8);
  ordered<std::uint16_t>(table, Element::uint16);
  ordered<std::uint32_t>(table, Element::uint32);
  ordered<std::uint64_t>(table, Element::uint64);
  ordered<float>(table, Element::float32);
  ordered<double>(table, Element::float64);
  ordered<long double>(table, Element::float_long);
  table.set(Operation::min, Element::bfloat16, each<std::uint16_t, BrainMinimum>);
  table.set(Operation::max, Element::bfloat16, each<std::uint16_t, BrainMaximum>);
#if defined(TUTTI_HAS_FLOAT16)
  ordered<Float16>(table, Element::float16);
#endif
#if defined(TUTTI_HAS_FLOAT128)
  ordered<Float128>(table, Element::float128);
#endif
}

}  // namespace TUTTI_KERNELS
}  // namespace tutti::types
