// How long a test that repeats itself with other numbers goes on.
#pragma once

#include <cstdlib>
#include <random>
#include <ranges>

namespace tutti::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// A quarter in sanitized builds with --quick, each of whose rounds takes some ten times as long;
// the plain build has gone through all of them then.
inline bool is_shortened() {
  return kIsSanitized && std::getenv("TUTTI_TEST_QUICK") != nullptr;
}
inline int rounds(int usual) {
  return is_shortened() ? (usual + 3) / 4 : usual;
}
inline auto seeds(int usual) {
  return std::views::iota(0U, static_cast<unsigned>(rounds(usual)));
}

// The same where all combinations of some choices are gone through: which of them are to run, the
// same ones in each run and thread.
class Combinations {
 public:
  bool takes_next() { return random_() % 4 == 0 || !is_shortened(); }

 private:
  std::mt19937 random_;
};

}  // namespace tutti::test
