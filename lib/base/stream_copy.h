// Copies past the caches: into memory that another core reads next, or that is too long for them.
//
// Ordinary stores leave the data in the writer's cache, from where the reader pulls it line by
// line: quick between halves of one core, several times slower than memory between distant ones.
// Streaming stores are about as quick everywhere.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/copy_lines.h"

namespace tutti {

// `to` lies on a cache line.
inline void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  const std::size_t done =
      copy_lines(to, from, bytes, [](__m128i* at, __m128i value) { _mm_stream_si128(at, value); });
  if (done < bytes) std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();  // streaming stores are not ordered by the release store that follows
#else
  std::memcpy(to, from, bytes);
#endif
}

// The same to anywhere.
inline void stream_copy_anywhere(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t before = bytes_to_line(to, bytes);
  std::memcpy(to, from, before);
  stream_copy(to + before, from + before, bytes - before);
}

// Waits until what was stored has left this core's queue, for who measures stores.
inline void drain_stores() {
#if defined(__SSE2__)
  _mm_mfence();
#endif
}

// Bytes of the last-level cache that one core can count on, also where the system tells of all
// cores' caches as if they were one.
std::size_t last_level_cache();

}  // namespace tutti
