// fold: the one loop of all folds, 16 bytes at a time where the operands allow it.
#pragma once

#include "device/kernels/grid.h"

namespace tutti::device {

template <class T, int kWide>
struct alignas(sizeof(T) * kWide) Several {
  T values[kWide];
};

// F::of(a, b) for each element.
template <class T, class F>
TUTTI_DEVICE void fold_each(const FoldParams& p) {
  const std::int64_t bytes = p.count * static_cast<std::int64_t>(sizeof(T));
  const T* const a = reach(static_cast<const T*>(p.a), bytes);
  const T* const b = reach(static_cast<const T*>(p.b), bytes);
  T* const out = reach(static_cast<T*>(p.out), bytes);
  constexpr int kWide = sizeof(T) < 16 && 16 % sizeof(T) == 0 ? 16 / sizeof(T) : 1;
  using Wide = Several<T, kWide>;
  const auto places = reinterpret_cast<std::uintptr_t>(p.a) |
                      reinterpret_cast<std::uintptr_t>(p.b) |
                      reinterpret_cast<std::uintptr_t>(p.out);
  const std::int64_t wides = places % 16 == 0 ? p.count / kWide : 0;
  for (std::int64_t i = first(); i < wides; i += step()) {
    const Wide x = reinterpret_cast<const Wide*>(a)[i];
    const Wide y = reinterpret_cast<const Wide*>(b)[i];
    Wide z;
    for (int k = 0; k < kWide; ++k) z.values[k] = F::of(x.values[k], y.values[k]);
    reinterpret_cast<Wide*>(out)[i] = z;
  }
  for (std::int64_t i = wides * kWide + first(); i < p.count; i += step())
    out[i] = F::of(a[i], b[i]);
}

// Those that numbers share; with a not-a-number the second operand wins, as on the host.
struct Min {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return a > b ? a : b;
  }
};

}  // namespace tutti::device
