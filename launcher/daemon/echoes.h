// One signal that comes by several ways counts once.
//
// `scancel --full` signals the step that a daemon is, prun, and prun's sruns: all three pass it on
// to the same ranks. Like any pending signal, one that is sent again within a second may be merged.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace tutti::launch::daemon {

class Echoes {
 public:
  // Whether it is new.
  bool note_from_keeper(int number) {
    const bool again = is_echo(from_keeper_, number) || is_echo(from_head_, number);
    from_keeper_ = {number, now_ns()};
    return !again;
  }
  // The same; prun's user may send one twice, what the keeper has passed on is the same.
  bool note_from_head(int number) {
    from_head_ = {number, now_ns()};
    return !is_echo(from_keeper_, number);
  }

 private:
  struct Heard {
    int number = 0;
    std::int64_t ns = 0;
  };
  static bool is_echo(const Heard& last, int number) {
    constexpr std::int64_t kEchoNs = 1'000'000'000;
    return number == last.number && now_ns() - last.ns < kEchoNs;
  }
  Heard from_keeper_, from_head_;
};

}  // namespace tutti::launch::daemon
