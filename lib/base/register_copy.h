// A copy by loads and stores of registers, where memcpy of long runs goes by `rep movsb`.
//
// While another core copies long runs into the lines that this one reads next, and both do so by
// `rep movsb`, the two hinder each other for minutes at a time: two and a half times as slow as
// when one of them does not (record 0067).
#pragma once

#include <cstddef>
#include <cstring>

#include "base/copy_lines.h"

namespace tutti {

inline void register_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t done = 0;
#if defined(__SSE2__)
  done = bytes_to_line(to, bytes);
  std::memcpy(to, from, done);
  done += copy_lines(to + done, from + done, bytes - done,
                     [](__m128i* at, __m128i value) { _mm_store_si128(at, value); });
#endif
  std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace tutti
