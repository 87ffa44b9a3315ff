// each.h: the one loop of all simple kernels, and the scalar types they work on.
//
// Everything is in an unnamed namespace, so that each vector level has its own copy.
#pragma once

#include "types/kernels/kernels.h"

namespace tutti::types {
namespace {

__extension__ typedef unsigned __int128 Wide;  // 16-byte integers
#if defined(__SIZEOF_FLOAT128__)
#define TUTTI_HAS_FLOAT128 1
__extension__ typedef __float128 Float128;
#endif
#if defined(__FLT16_MANT_DIG__)
#define TUTTI_HAS_FLOAT16 1
__extension__ typedef _Float16 Float16;
#endif

// A bfloat16 is the upper half of a float.
inline float widened(std::uint16_t half) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(half) << 16);
}
// To the nearest, ties to even.
inline std::uint16_t rounded(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const bool is_number = (bits & 0x7fffffffU) <= 0x7f800000U;
  const std::uint32_t nearest = bits + 0x7fffU + ((bits >> 16) & 1U);
  return is_number ? static_cast<std::uint16_t>(nearest >> 16) : std::uint16_t{0x7fc0};
}

// T at any address, whatever type the user stored there.
template <class T>
struct Loose {
  typedef T type __attribute__((aligned(1), may_alias));
};

// out[i] = F::of(a[i], b[i]). `out` may be `a` or `b`: an element is read before it is
// written, so no iteration depends on another, which is what ivdep says.
template <class T, class F>
void each(const void* a, const void* b, void* out, Count count) {
  using L = typename Loose<T>::type;
  const L* x = static_cast<const L*>(a);
  const L* y = static_cast<const L*>(b);
  L* z = static_cast<L*>(out);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (Count i = 0; i < count; ++i) z[i] = F::template of<T>(x[i], y[i]);
}

}  // namespace
}  // namespace tutti::types
