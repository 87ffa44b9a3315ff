// What copies by registers have in common: whole cache lines, each by four of 16 bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti {

inline constexpr std::size_t kCopyLine = 64;

// How many of `bytes` come before the next line.
inline std::size_t bytes_to_line(const std::byte* at, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return std::min<std::size_t>((kCopyLine - address % kCopyLine) % kCopyLine, bytes);
}

#if defined(__SSE2__)
// `to` lies on a line; `store` writes a register. How many bytes that were: all but the last ones.
template <typename Store>
inline std::size_t copy_lines(std::byte* to, const std::byte* from, std::size_t bytes,
                              Store store) {
  std::byte* const begin = to;
  for (; bytes >= kCopyLine; bytes -= kCopyLine, to += kCopyLine, from += kCopyLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    store(target, a);
    store(target + 1, b);
    store(target + 2, c);
    store(target + 3, d);
  }
  return static_cast<std::size_t>(to - begin);
}
#endif

}  // namespace tutti
