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
