// Asking a processor for a cache line before it is needed.
#pragma once

namespace tutti {

// Brings the line of `at` to this core to be written. A compiler's own prefetch for writing is one
// for reading unless it builds for a processor that is known to have the other.
inline void prefetch_to_write(const void* at) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1);
#endif
}

}  // namespace tutti
