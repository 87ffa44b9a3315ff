// integers: all operations on them; bytes and logicals are folded as integers of their size. Sums and
// products wrap around, so signed and unsigned ones share a kernel; minima and maxima do not.
#include "device/kernels/fold.h"

namespace {

using namespace tutti::device;

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// Types narrower than int are computed in unsigned.
template <class T>
struct Wider {
  typedef T type;
};
template <>
struct Wider<std::uint8_t> {
  typedef unsigned type;
};
template <>
struct Wider<std::uint16_t> {
  typedef unsigned type;
};

struct Sum {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    using W = typename Wider<T>::type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};
struct Product {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    using W = typename Wider<T>::type;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};
struct BitAnd {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// Anything but 0 is true, and true comes out as 1.
struct And {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return static_cast<T>(a != 0 && b != 0);
  }
};
struct Or {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return static_cast<T>(a != 0 || b != 0);
  }
};
struct Xor {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

// All but what depends on the sign, which is done without.
template <class T>
TUTTI_DEVICE void fold_bits(const FoldParams& p) {
  switch (p.op) {
    case kSum:
      return fold_each<T, Sum>(p);
    case kProduct:
      return fold_each<T, Product>(p);
    case kBitAnd:
      return fold_each<T, BitAnd>(p);
    case kBitOr:
      return fold_each<T, BitOr>(p);
    case kBitXor:
      return fold_each<T, BitXor>(p);
    case kAnd:
      return fold_each<T, And>(p);
    case kOr:
      return fold_each<T, Or>(p);
    case kXor:
      return fold_each<T, Xor>(p);
    default:
      return;
  }
}

template <class T>
TUTTI_DEVICE void fold_ordered(const FoldParams& p) {
  if (p.op == kMin) return fold_each<T, Min>(p);
  if (p.op == kMax) return fold_each<T, Max>(p);
}

}  // namespace

TUTTI_KERNEL(tutti_fold_bits8, FoldParams) { fold_bits<std::uint8_t>(p); }
TUTTI_KERNEL(tutti_fold_bits16, FoldParams) { fold_bits<std::uint16_t>(p); }
TUTTI_KERNEL(tutti_fold_bits32, FoldParams) { fold_bits<std::uint32_t>(p); }
TUTTI_KERNEL(tutti_fold_bits64, FoldParams) { fold_bits<std::uint64_t>(p); }
TUTTI_KERNEL(tutti_fold_bits128, FoldParams) { fold_bits<UInt128>(p); }
TUTTI_KERNEL(tutti_fold_int8, FoldParams) { fold_ordered<std::int8_t>(p); }
TUTTI_KERNEL(tutti_fold_int16, FoldParams) { fold_ordered<std::int16_t>(p); }
TUTTI_KERNEL(tutti_fold_int32, FoldParams) { fold_ordered<std::int32_t>(p); }
TUTTI_KERNEL(tutti_fold_int64, FoldParams) { fold_ordered<std::int64_t>(p); }
TUTTI_KERNEL(tutti_fold_int128, FoldParams) { fold_ordered<Int128>(p); }
TUTTI_KERNEL(tutti_fold_uint8, FoldParams) { fold_ordered<std::uint8_t>(p); }
TUTTI_KERNEL(tutti_fold_uint16, FoldParams) { fold_ordered<std::uint16_t>(p); }
TUTTI_KERNEL(tutti_fold_uint32, FoldParams) { fold_ordered<std::uint32_t>(p); }
TUTTI_KERNEL(tutti_fold_uint64, FoldParams) { fold_ordered<std::uint64_t>(p); }
