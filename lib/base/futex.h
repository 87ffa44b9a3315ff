// Sleeping on a word and being woken by whoever changes it, of one process or of several.
//
// Of those that sleep on one word only those are woken that have a bit in common with the waker.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "base/clock.h"

namespace tutti {

// While `word` holds `seen`, for at most so long.
inline void futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen, int limit_ms,
                        std::uint32_t bits = FUTEX_BITSET_MATCH_ANY) {
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  const std::int64_t until = now_ns() + std::int64_t{limit_ms} * 1'000'000;
  const timespec limit{until / kSecond_ns, until % kSecond_ns};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, seen, &limit, nullptr, bits);
}

inline void futex_wake(std::atomic<std::uint32_t>& word,
                       std::uint32_t bits = FUTEX_BITSET_MATCH_ANY) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, bits);
}

}  // namespace tutti
