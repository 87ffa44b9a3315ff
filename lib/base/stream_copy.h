// Copies past the caches: into memory that another core reads next, or that is too long for them.
//
// Ordinary stores leave the data in the writer's cache, from where the reader pulls it line by
// line: quick between halves of one core, several times slower than memory between distant ones.
// Streaming stores are about as quick everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti {

// `to` lies on a cache line.
inline void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  if (bytes > 0) std::memcpy(to, from, bytes);
  _mm_sfence();  // streaming stores are not ordered by the release store that follows
#else
  std::memcpy(to, from, bytes);
#endif
}

// The same to anywhere.
inline void stream_copy_anywhere(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::uintptr_t kLine = 64;
  const std::size_t before =
      std::min<std::size_t>((kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine, bytes);
  std::memcpy(to, from, before);
  stream_copy(to + before, from + before, bytes - before);
}

// Waits until what was stored has left this core's queue, for who measures stores.
inline void drain_stores() {
#if defined(__SSE2__)
  _mm_mfence();
#endif
}

}  // namespace tutti
