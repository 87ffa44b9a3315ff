// floats: sums, products, minima and maxima of numbers, and sums and products of complex ones.
// Those of two bytes are computed in float32 and rounded once, to the nearest, ties to even; where
// more than two are summed they become float32 before, and two bytes again after.
#include <cstring>

#include "device/kernels/fold.h"

namespace {

using namespace tutti::device;

TUTTI_DEVICE float float_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
TUTTI_DEVICE std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The upper half of a float32.
struct Brain {
  std::uint16_t bits;
  TUTTI_DEVICE static float wide(Brain half) {
    return float_of(static_cast<std::uint32_t>(half.bits) << 16);
  }
  TUTTI_DEVICE static Brain narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U) return {0x7fc0};
    return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
  }
};

// IEEE's binary16, on its bits as types/kernels/widen.cc has it.
struct Half {
  std::uint16_t bits;
  TUTTI_DEVICE static float wide(Half half) {
    const std::uint32_t magnitude = half.bits & 0x7fffU;
    const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
    const std::uint32_t shifted = magnitude << 13;
    if (magnitude >= 0x7c00U) return float_of(sign | shifted | 0x7f800000U);
    if (magnitude >= 0x400U) return float_of(sign | (shifted + (112U << 23)));
    return float_of(sign | bits_of(static_cast<float>(magnitude) * 5.9604644775390625e-8F));  // 2^-24
  }
  TUTTI_DEVICE static Half narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    std::uint32_t rounded;
    if (magnitude > 0x7f800000U)
      rounded = 0x7e00U;  // not a number
    else if (magnitude >= 0x477ff000U)
      rounded = 0x7c00U;  // 65520 and more: infinity
    else if (magnitude < 0x38800000U)  // below 2^-14: 0.5 has the same ulp
      rounded = bits_of(float_of(magnitude) + 0.5F) - 0x3f000000U;
    else
      rounded = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    return {static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | rounded)};
  }
};

TUTTI_DEVICE float wide(float value) { return value; }
TUTTI_DEVICE double wide(double value) { return value; }
TUTTI_DEVICE float wide(Half value) { return Half::wide(value); }
TUTTI_DEVICE float wide(Brain value) { return Brain::wide(value); }
TUTTI_DEVICE void narrow(float value, float* to) { *to = value; }
TUTTI_DEVICE void narrow(double value, double* to) { *to = value; }
TUTTI_DEVICE void narrow(float value, Half* to) { *to = Half::narrow(value); }
TUTTI_DEVICE void narrow(float value, Brain* to) { *to = Brain::narrow(value); }

struct Sum {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    T sum;
    narrow(wide(a) + wide(b), &sum);
    return sum;
  }
};
struct Product {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    T product;
    narrow(wide(a) * wide(b), &product);
    return product;
  }
};
struct Least {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return wide(a) < wide(b) ? a : b;
  }
};
struct Greatest {
  template <class T>
  TUTTI_DEVICE static T of(T a, T b) {
    return wide(a) > wide(b) ? a : b;
  }
};

template <class T>
struct Complex {
  T real, imaginary;
};
struct ComplexSum {
  template <class T>
  TUTTI_DEVICE static Complex<T> of(Complex<T> a, Complex<T> b) {
    return {Sum::of(a.real, b.real), Sum::of(a.imaginary, b.imaginary)};
  }
};
struct ComplexProduct {
  template <class T>
  TUTTI_DEVICE static Complex<T> of(Complex<T> a, Complex<T> b) {
    Complex<T> product;
    narrow(wide(a.real) * wide(b.real) - wide(a.imaginary) * wide(b.imaginary), &product.real);
    narrow(wide(a.real) * wide(b.imaginary) + wide(a.imaginary) * wide(b.real),
           &product.imaginary);
    return product;
  }
};

template <class T>
TUTTI_DEVICE void fold_floats(const FoldParams& p) {
  switch (p.op) {
    case kSum:
      return fold_each<T, Sum>(p);
    case kProduct:
      return fold_each<T, Product>(p);
    case kMin:
      return fold_each<T, Least>(p);
    case kMax:
      return fold_each<T, Greatest>(p);
    default:
      return;
  }
}

template <class T>
TUTTI_DEVICE void fold_complex(const FoldParams& p) {
  if (p.op == kSum) return fold_each<Complex<T>, ComplexSum>(p);
  if (p.op == kProduct) return fold_each<Complex<T>, ComplexProduct>(p);
}

template <class T>
TUTTI_DEVICE void convert(const T* from, float* to) {
  *to = T::wide(*from);
}
template <class T>
TUTTI_DEVICE void convert(const float* from, T* to) {
  *to = T::narrow(*from);
}

// Eight at a time where both sides allow it.
template <class From, class To>
TUTTI_DEVICE void convert_each(const From* from, To* to, std::int64_t count, bool is_aligned) {
  constexpr int kWide = 8;
  using Some = Several<From, kWide>;
  using Others = Several<To, kWide>;
  const std::int64_t wides = is_aligned ? count / kWide : 0;
  for (std::int64_t i = first(); i < wides; i += step()) {
    const Some x = reinterpret_cast<const Some*>(from)[i];
    Others z;
    for (int k = 0; k < kWide; ++k) convert(&x.values[k], &z.values[k]);
    reinterpret_cast<Others*>(to)[i] = z;
  }
  for (std::int64_t i = wides * kWide + first(); i < count; i += step()) convert(&from[i], &to[i]);
}

template <class T>
TUTTI_DEVICE void convert_floats(const ConvertParams& p) {
  T* const narrow =
      reach(static_cast<T*>(p.narrow), p.count * static_cast<std::int64_t>(sizeof(T)));
  float* const wide = reach(p.wide, p.count * static_cast<std::int64_t>(sizeof(float)));
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(p.narrow) % 16 == 0 &&
                          reinterpret_cast<std::uintptr_t>(p.wide) % 32 == 0;
  if (p.widens != 0) return convert_each(narrow, wide, p.count, is_aligned);
  convert_each(wide, narrow, p.count, is_aligned);
}

}  // namespace

TUTTI_KERNEL(tutti_fold_float16, FoldParams) { fold_floats<Half>(p); }
TUTTI_KERNEL(tutti_fold_bfloat16, FoldParams) { fold_floats<Brain>(p); }
TUTTI_KERNEL(tutti_fold_float32, FoldParams) { fold_floats<float>(p); }
TUTTI_KERNEL(tutti_fold_float64, FoldParams) { fold_floats<double>(p); }
TUTTI_KERNEL(tutti_fold_complex32, FoldParams) { fold_complex<Half>(p); }
TUTTI_KERNEL(tutti_fold_complex64, FoldParams) { fold_complex<float>(p); }
TUTTI_KERNEL(tutti_fold_complex128, FoldParams) { fold_complex<double>(p); }
TUTTI_KERNEL(tutti_convert_float16, ConvertParams) { convert_floats<Half>(p); }
TUTTI_KERNEL(tutti_convert_bfloat16, ConvertParams) { convert_floats<Brain>(p); }
