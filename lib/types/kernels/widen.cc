// widen.cc: two-byte floats to float32, which is exact, and back, rounded once to the nearest,
// ties to even. On the bits, without branches, so that every vector level has fast loops: the
// processor's own conversions are not everywhere, and the compiler calls a function without them.
#include "types/kernels/each.h"

namespace tutti::types {
namespace {

constexpr std::uint32_t kInfinity = 0x7f800000U;      // of float32, as bits
constexpr std::uint32_t kRebias = 112U << 23;         // float32's exponents less float16's
constexpr std::uint32_t kNormal = 0x38800000U;        // 2^-14, the least normal float16
constexpr std::uint32_t kBeyond = 0x477ff000U;        // 65520: this and more rounds to infinity
constexpr float kUlpOfTiny = 5.9604644775390625e-8F;  // 2^-24, of float16 below 2^-14
constexpr std::uint32_t kHalf = 0x3f000000U;          // 0.5: its ulp in float32 is that, too

// By a mask: a branch here would keep the compiler from vectors.
inline std::uint32_t chosen(bool first, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(first);
  return (a & mask) | (b & ~mask);
}

struct Brain {
  static float wide(std::uint16_t half) { return widened(half); }
  static std::uint16_t narrow(float value) { return rounded(value); }
};

struct Half {
  static float wide(std::uint16_t half) {
    const std::uint32_t magnitude = half & 0x7fffU;
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t shifted = magnitude << 13;
    const auto tiny = __builtin_bit_cast(std::uint32_t, static_cast<float>(magnitude) * kUlpOfTiny);
    const std::uint32_t usual = shifted + kRebias;
    const std::uint32_t special = shifted | kInfinity;
    const std::uint32_t finite = chosen(magnitude < 0x400U, tiny, usual);
    return __builtin_bit_cast(float, sign | chosen(magnitude >= 0x7c00U, special, finite));
  }
  static std::uint16_t narrow(float value) {
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    const std::uint32_t usual = (magnitude - kRebias + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    const float added = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, kHalf);
    const std::uint32_t tiny = __builtin_bit_cast(std::uint32_t, added) - kHalf;
    const std::uint32_t special = chosen(magnitude > kInfinity, 0x7e00U, 0x7c00U);
    const std::uint32_t finite = chosen(magnitude < kNormal, tiny, usual);
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) |
                                      chosen(magnitude >= kBeyond, special, finite));
  }
};

// F::wide or F::narrow of each part; no overlap.
template <class F, Count Parts>
void all_wide(const void* from, void* to, Count count) {
  const auto* x = static_cast<const typename Loose<std::uint16_t>::type*>(from);
  auto* z = static_cast<typename Loose<float>::type*>(to);
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (Count i = 0; i < Parts * count; ++i) z[i] = F::wide(x[i]);
}
template <class F, Count Parts>
void all_narrow(const void* from, void* to, Count count) {
  const auto* x = static_cast<const typename Loose<float>::type*>(from);
  auto* z = static_cast<typename Loose<std::uint16_t>::type*>(to);
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (Count i = 0; i < Parts * count; ++i) z[i] = F::narrow(x[i]);
}

template <class F, Count Parts>
void set(KernelTable& table, Element element) {
  table.widen[static_cast<std::size_t>(element)] = all_wide<F, Parts>;
  table.narrow[static_cast<std::size_t>(element)] = all_narrow<F, Parts>;
}

}  // namespace

namespace TUTTI_KERNELS {

void fill_widening(KernelTable& table) {
  set<Brain, 1>(table, Element::bfloat16);
  set<Half, 1>(table, Element::float16);
  set<Half, 2>(table, Element::complex32);
}

}  // namespace TUTTI_KERNELS
}  // namespace tutti::types
