// arithmetic.cc: sum and product. Integers wrap around, so signed and unsigned ones share a
// kernel; a complex sum is a sum of twice as many parts. Floats of two bytes are computed in
// float32 and rounded once, to the nearest.
#include "types/kernels/each.h"

namespace tutti::types {
namespace {

// Types narrower than int are computed as unsigned, not as int, where they could overflow.
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

#if defined(TUTTI_HAS_FLOAT16)
template <>
struct Wider<Float16> {
  typedef float type;
};
#endif

struct Sum {
  template <class T>
  static T of(T a, T b) {
    using W = typename Wider<T>::type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};

struct Product {
  template <class T>
  static T of(T a, T b) {
    using W = typename Wider<T>::type;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};

// On the bits of bfloat16.
struct BrainSum {
  template <class T>
  static T of(T a, T b) {
    return rounded(widened(a) + widened(b));
  }
};
struct BrainProduct {
  template <class T>
  static T of(T a, T b) {
    return rounded(widened(a) * widened(b));
  }
};

template <class T>
void complex_sum(const void* a, const void* b, void* out, Count count) {
  each<T, Sum>(a, b, out, 2 * count);
}

// GCC fuses the multiplication of complex numbers even where -ffp-contract=off forbids it, so
// the instructions that fuse are taken away; AVX2 stays, and memory is the limit anyway.
#if defined(__x86_64__) && defined(__AVX2__)
#define TUTTI_UNFUSED __attribute__((target("no-avx512f,no-fma,no-fma4")))
#else
#define TUTTI_UNFUSED
#endif

template <class T>
TUTTI_UNFUSED void complex_product(const void* a, const void* b, void* out, Count count) {
  using L = typename Loose<T>::type;
  const L* x = static_cast<const L*>(a);
  const L* y = static_cast<const L*>(b);
  L* z = static_cast<L*>(out);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (Count i = 0; i < count; ++i) {
    const T real = static_cast<T>(x[2 * i] * y[2 * i] - x[2 * i + 1] * y[2 * i + 1]);
    const T imaginary = static_cast<T>(x[2 * i] * y[2 * i + 1] + x[2 * i + 1] * y[2 * i]);
    z[2 * i] = real;
    z[2 * i + 1] = imaginary;
  }
}

template <class T>
void real(KernelTable& table, Element element) {
  table.set(Operation::sum, element, each<T, Sum>);
  table.set(Operation::prod, element, each<T, Product>);
}

template <class T>
void complex(KernelTable& table, Element element) {
  table.set(Operation::sum, element, complex_sum<T>);
  table.set(Operation::prod, element, complex_product<T>);
}

}  // namespace

namespace TUTTI_KERNELS {

void fill_arithmetic(KernelTable& table) {
  real<std::uint8_t>(table, Element::int8);
  real<std::uint8_t>(table, Element::uint8);
  real<std::uint16_t>(table, Element::int16);
  real<std::uint16_t>(table, Element::uint16);
  real<std::uint32_t>(table, Element::int32);
  real<std::uint32_t>(table, Element::uint32);
  real<std::uint64_t>(table, Element::int64);
  real<std::uint64_t>(table, Element::uint64);
  real<Wide>(table, Element::int128);
  real<float>(table, Element::float32);
  real<double>(table, Element::float64);
  real<long double>(table, Element::float_long);
  complex<float>(table, Element::complex64);
  complex<double>(table, Element::complex128);
  complex<long double>(table, Element::complex_long);
  table.set(Operation::sum, Element::bfloat16, each<std::uint16_t, BrainSum>);
  table.set(Operation::prod, Element::bfloat16, each<std::uint16_t, BrainProduct>);
#if defined(TUTTI_HAS_FLOAT16)
  real<Float16>(table, Element::float16);
  complex<Float16>(table, Element::complex32);
#endif
#if defined(TUTTI_HAS_FLOAT128)
  real<Float128>(table, Element::float128);
  complex<Float128>(table, Element::complex256);
#endif
}

}  // namespace TUTTI_KERNELS
}  // namespace tutti::types
