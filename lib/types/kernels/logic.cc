// logic.cc: bitwise operations by size, and logical ones: anything but 0 is true, and true
// comes out as 1 (which is what C's bool and Fortran's LOGICAL have).
#include "types/kernels/each.h"

namespace tutti::types {
namespace {

struct BitAnd {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a | b) != 0);
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

template <class T>
void bitwise(KernelTable& table, Element element) {
  table.set(Operation::band, element, each<T, BitAnd>);
  table.set(Operation::bor, element, each<T, BitOr>);
  table.set(Operation::bxor, element, each<T, BitXor>);
}

template <class T>
void logical(KernelTable& table, Element element) {
  table.set(Operation::land, element, each<T, And>);
  table.set(Operation::lor, element, each<T, Or>);
  table.set(Operation::lxor, element, each<T, Xor>);
}

template <class T>
void integer(KernelTable& table, Element with_sign, Element without_sign, Element truth) {
  bitwise<T>(table, with_sign);
  bitwise<T>(table, without_sign);
  logical<T>(table, with_sign);
  logical<T>(table, without_sign);
  logical<T>(table, truth);
}

}  // namespace

namespace TUTTI_KERNELS {

void fill_logic(KernelTable& table) {
  integer<std::uint8_t>(table, Element::int8, Element::uint8, Element::logical8);
  integer<std::uint16_t>(table, Element::int16, Element::uint16, Element::logical16);
  integer<std::uint32_t>(table, Element::int32, Element::uint32, Element::logical32);
  integer<std::uint64_t>(table, Element::int64, Element::uint64, Element::logical64);
  integer<Wide>(table, Element::int128, Element::int128, Element::logical128);
  bitwise<std::uint8_t>(table, Element::byte);
}

}  // namespace TUTTI_KERNELS
}  // namespace tutti::types
