// Time as numbers with units: monotonic nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace tutti {

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What is left until then, rounded up; 0: it is past.
inline std::chrono::milliseconds time_left(std::int64_t deadline_ns) {
  const std::int64_t left = deadline_ns - now_ns();
  return std::chrono::milliseconds(left <= 0 ? 0 : left / 1'000'000 + 1);
}

// The same clock as the kernel's last tick left it, some ms ago: a fifth of the cost.
inline std::int64_t last_tick_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Counts turns, and says when something that costs more than one is due again: after so many, and
// after some ms.
class Throttle {
 public:
  bool take_turn() {
    const std::int64_t tick = last_tick_ns();
    if (++turns_ < kMostTurns && tick == tick_) return false;
    turns_ = 0;
    tick_ = tick;
    return true;
  }

 private:
  static constexpr std::uint32_t kMostTurns = 4096;
  std::uint32_t turns_ = 0;
  std::int64_t tick_ = 0;
};

}  // namespace tutti
