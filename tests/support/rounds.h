// How long a test that repeats itself with other numbers goes on.
#pragma once

#include <cstdio>
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

// By which the quarter of a run is drawn: said to it, or drawn itself and printed.
inline unsigned seed_of_run() {
  static const unsigned seed = [] {
    const char* const said = std::getenv("TUTTI_TEST_SEED");
    const unsigned drawn = said != nullptr ? static_cast<unsigned>(std::strtoul(said, nullptr, 10))
                                           : std::random_device{}();
    std::fprintf(stderr, "TUTTI_TEST_SEED=%u takes the same combinations again\n", drawn);
    return drawn;
  }();
  return seed;
}

// The same where all combinations of some choices are gone through: which of them are to run, the
// same ones in each thread of a run.
class Combinations {
 public:
  bool takes_next() { return !is_shortened() || random_() % 4 == 0; }

 private:
  std::mt19937 random_{is_shortened() ? seed_of_run() : 0};
};

}  // namespace tutti::test
