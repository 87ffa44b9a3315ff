// A copy by loads and stores of registers, where memcpy of long runs goes by `rep movsb`.
//
// While another core copies long runs into the lines that this one reads next, and both do so by
// `rep movsb`, the two hinder each other for minutes at a time: two and a half times as slow as
// when one of them does not (record 0067).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti {

inline void register_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  constexpr std::uintptr_t kLine = 64;
  const std::size_t before =
      std::min<std::size_t>((kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine, bytes);
  std::memcpy(to, from, before);
  to += before;
  from += before;
  // A loop of single vectors the compiler may turn into a call of memcpy.
  for (bytes -= before; bytes >= kLine; bytes -= kLine, to += kLine, from += kLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_store_si128(target, a);
    _mm_store_si128(target + 1, b);
    _mm_store_si128(target + 2, c);
    _mm_store_si128(target + 3, d);
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace tutti
